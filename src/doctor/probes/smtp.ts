import type { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { ipRangeMatcher } from '../../base/ip.ts'
import type { SmtpProbe, SmtpReply } from '../checks/context.ts'
import type { ServedCertificate } from '../rules/tls-rules.ts'

const CONNECT_MS = 5_000
const REPLY_MS = 10_000
const MAX_REPLY_BYTES = 64 * 1024

/** Opens connections to SMTP servers. `local` is our own port, where load balancers send a PROXY header. */
export function openSmtpProbe(local: { port: number; proxyFrom: readonly string[] }) {
  const isProxy = ipRangeMatcher(local.proxyFrom)
  return async (address: string, port: number, signal: AbortSignal): Promise<SmtpProbe> => {
    const socket = connectTcp({ host: address, port, noDelay: true, signal })
    const giveUp = setTimeout(() => socket.destroy(new Error('no connection in time')), CONNECT_MS)
    try {
      await once(socket, 'connect')
    } finally {
      clearTimeout(giveUp)
    }
    if (port === local.port && isProxy(socket.localAddress ?? '')) socket.write('PROXY UNKNOWN\r\n')
    let current = openDialogue(socket)
    try {
      const greeting = await current.reply()
      if (greeting.code === 0) throw new Error('the server closed the connection')
      return {
        greeting,
        async command(line) {
          current.socket.write(`${line}\r\n`)
          return await current.reply()
        },
        async startTls(host) {
          current.socket.write('STARTTLS\r\n')
          const { code, text } = await current.reply()
          if (code !== 220) throw new Error(text)
          current.release()
          const secure = await upgrade(socket, host)
          current = openDialogue(secure)
          return certificateOf(secure)
        },
        close: () => current.socket.destroy(),
      }
    } catch (error) {
      socket.destroy()
      throw error
    }
  }
}

async function upgrade(socket: Socket, host: string): Promise<TLSSocket> {
  // Whoever asks judges the certificate; the name is compared there, too.
  const secure = connectTls({
    socket,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: false,
    checkServerIdentity: () => undefined,
  })
  const giveUp = setTimeout(() => secure.destroy(new Error('no TLS handshake in time')), CONNECT_MS)
  try {
    await once(secure, 'secureConnect')
  } finally {
    clearTimeout(giveUp)
  }
  return secure
}

function certificateOf(socket: TLSSocket): ServedCertificate {
  const leaf = socket.getPeerX509Certificate()
  if (!leaf) throw new Error('the server sent no certificate')
  const chain: X509Certificate[] = []
  for (let one: X509Certificate | undefined = leaf; one && !chain.includes(one); ) {
    chain.push(one)
    one = one.issuerCertificate
  }
  const names = (leaf.subjectAltName ?? '').matchAll(/\bDNS:([^,\s]+)/g)
  return {
    names: [...names].map(([, name = '']) => name),
    notBefore: new Date(leaf.validFrom),
    notAfter: new Date(leaf.validTo),
    untrusted: socket.authorized ? '' : String(socket.authorizationError),
    chain: chain.map((one) => ({
      der: one.raw,
      publicKey: one.publicKey.export({ type: 'spki', format: 'der' }),
    })),
  }
}

/** Reads replies one by one; a closed connection is reply 0. */
function openDialogue(socket: Socket) {
  let text = ''
  let lines: string[] = []
  let size = 0
  const replies: SmtpReply[] = []
  let wake = () => {}
  let isClosed = false

  const onData = (chunk: Buffer) => {
    text += chunk.toString('latin1')
    size += chunk.length
    if (size > MAX_REPLY_BYTES) socket.destroy()
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      lines.push(text.slice(0, end).trimEnd())
      text = text.slice(end + 1)
      if (lines.at(-1)?.[3] === '-') continue
      replies.push({ code: Number(lines.at(-1)?.slice(0, 3)) || 0, text: lines.join('\n') })
      lines = []
      size = text.length
    }
    wake()
  }
  const onClose = () => {
    isClosed = true
    wake()
  }
  socket.on('data', onData).on('close', onClose).on('error', onClose)

  return {
    socket,
    async reply(): Promise<SmtpReply> {
      const end = performance.now() + REPLY_MS
      while (replies.length === 0 && !isClosed && performance.now() < end) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, end - performance.now())
        wake = resolve
        await promise
        clearTimeout(timer)
      }
      return replies.shift() ?? { code: 0, text: isClosed ? 'connection closed' : 'no reply' }
    },
    /** Leaves the socket to TLS. */
    release: () => void socket.off('data', onData),
  }
}
