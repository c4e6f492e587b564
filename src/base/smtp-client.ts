import { once } from 'node:events'
import { connect as connectTcp, isIP, type Socket, type TcpNetConnectOpts } from 'node:net'
import { createInterface } from 'node:readline'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { ipRangeMatcher } from './ip.ts'
import { withTimeout } from './jobs/repeat.ts'

export interface SmtpReply {
  /** 0: there was none. */
  code: number
  text: string
}

/** A connection to an SMTP server, after its greeting. */
export interface SmtpClient {
  greeting: SmtpReply
  command(line: string): Promise<SmtpReply>
  /** Completes the handshake, whatever the certificate is. Rejects if the server refuses. */
  startTls(host: string): Promise<TLSSocket>
  close(): void
}

interface SmtpClientOptions extends TcpNetConnectOpts {
  /** Addresses of this machine from which the server expects a PROXY header, because load balancers are there. */
  proxyFrom: readonly string[]
  replyMs?: number
}

const CONNECT_MS = 5_000
const REPLY_MS = 10_000
const MAX_BYTES = 64 * 1024

/** Rejects if nothing answers. */
export async function connectSmtp({
  proxyFrom,
  replyMs = REPLY_MS,
  ...options
}: SmtpClientOptions): Promise<SmtpClient> {
  const plain = await opened(connectTcp({ noDelay: true, ...options }), 'connect')
  if (ipRangeMatcher(proxyFrom)(plain.localAddress ?? '')) plain.write('PROXY UNKNOWN\r\n')
  let socket = plain
  let replies = openReplies(plain, replyMs)
  const greeting = await replies.next()
  if (greeting.code === 0) {
    plain.destroy()
    throw new Error(greeting.text)
  }
  async function command(line: string): Promise<SmtpReply> {
    socket.write(`${line}\r\n`)
    return await replies.next()
  }
  return {
    greeting,
    command,
    async startTls(host) {
      const { code, text } = await command('STARTTLS')
      if (code !== 220) throw new Error(text)
      replies.close()
      const secure = connectTls({
        socket: plain,
        ...(isIP(host) === 0 ? { servername: host } : {}),
        rejectUnauthorized: false,
        checkServerIdentity: () => undefined,
      })
      await opened(secure, 'secureConnect')
      socket = secure
      replies = openReplies(secure, replyMs)
      return secure
    },
    close: () => socket.destroy(),
  }
}

async function opened<S extends Socket>(socket: S, event: 'connect' | 'secureConnect'): Promise<S> {
  const timer = setTimeout(() => socket.destroy(new Error('no connection in time')), CONNECT_MS)
  try {
    await once(socket, event)
    return socket
  } finally {
    clearTimeout(timer)
  }
}

function openReplies(socket: Socket, replyMs: number) {
  const reader = createInterface(socket)
  const lines = reader[Symbol.asyncIterator]()
  const closed = { done: true, value: '' } as const
  // The end of the lines says the same.
  socket.on('error', () => {})
  socket.on('data', () => {
    if (socket.bytesRead > MAX_BYTES) socket.destroy()
  })
  return {
    async next(): Promise<SmtpReply> {
      for (let text = ''; ; text += '\n') {
        const line = await withTimeout(
          replyMs,
          lines.next().catch(() => closed),
        )
        if (!line) return { code: 0, text: 'no reply in time' }
        if (line.done) return { code: 0, text: 'the server closed the connection' }
        text += line.value
        if (line.value[3] !== '-') return { code: Number(line.value.slice(0, 3)) || 0, text }
      }
    },
    /** Leaves the socket to TLS. */
    close: () => reader.close(),
  }
}
