import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A minimal SMTP client that sends exactly what it is given, valid or not. */
export interface SmtpClient {
  socket: Socket
  /** Writes the line with CRLF and reads one reply. */
  command(line: string): Promise<SmtpReply>
  /** Writes the bytes unchanged. */
  write(bytes: string | Uint8Array): void
  readReply(): Promise<SmtpReply>
  /** From EHLO to the reply after the final dot, or the first rejection. Dot-stuffs `raw` and adds the final dot. */
  send(mail: { to: string[]; raw: Uint8Array | string; from?: string }): Promise<SendReply>
  close(): void
}

export interface SmtpReply {
  code: number
  text: string
}

/** The recipients that were accepted, even if the mail was not. */
interface SendReply extends SmtpReply {
  accepted: string[]
}

/** The client as the server sees it: `localAddress` is another loopback address, `proxyFor` is sent in a PROXY header. */
interface ClientAddress {
  localAddress?: string
  proxyFor?: string
}

export async function connectSmtp(
  port: number,
  host = '127.0.0.1',
  { localAddress, proxyFor }: ClientAddress = {},
): Promise<SmtpClient> {
  const socket = connect({ port, host, noDelay: true, ...(localAddress ? { localAddress } : {}) })
  const replies = replyReader(socket)
  await once(socket, 'connect')
  if (proxyFor) socket.write(`PROXY TCP4 ${proxyFor} 127.0.0.1 4000 25\r\n`)
  let greeted = false

  const client: SmtpClient = {
    socket,
    readReply: replies,
    write: (bytes) => void socket.write(bytes),
    async command(line) {
      socket.write(`${line}\r\n`, 'latin1')
      return replies()
    },
    async send({ to, raw, from = 'sender@sender.test' }) {
      if (!greeted) await client.command('EHLO sender.test')
      greeted = true
      const lines = [`MAIL FROM:<${from}>`, ...to.map((address) => `RCPT TO:<${address}>`), 'DATA']
      socket.write(lines.map((line) => `${line}\r\n`).join(''))
      const received: SmtpReply[] = []
      for (const _ of lines) received.push(await replies())
      const refused = received.find(({ code }) => code !== 250 && code !== 354)
      const accepted = to.filter((_, at) => received[at + 1]?.code === 250)
      if (received.at(-1)?.code !== 354)
        return { ...(refused ?? { code: 0, text: 'no answer to DATA' }), accepted }
      socket.write(stuffed(raw))
      return { ...(await replies()), accepted }
    },
    close: () => socket.destroy(),
  }
  await replies()
  return client
}

/** Dot-stuffed and with the final dot. */
export function stuffed(raw: Uint8Array | string): Buffer {
  const text = Buffer.from(raw).toString('latin1')
  const dotted = text.replace(/(^|\r\n)\./g, '$1..')
  return Buffer.from(`${dotted}${dotted.endsWith('\r\n') ? '' : '\r\n'}.\r\n`, 'latin1')
}

/** Reads replies one by one; a closed connection is reply 0. */
function replyReader(socket: Socket): () => Promise<SmtpReply> {
  let text = ''
  let lines: string[] = []
  const ready: SmtpReply[] = []
  const waiting: ((reply: SmtpReply) => void)[] = []
  let ended = false

  const give = (reply: SmtpReply) => {
    const next = waiting.shift()
    if (next) next(reply)
    else ready.push(reply)
  }
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
      const line = text.slice(0, end)
      text = text.slice(end + 2)
      lines.push(line)
      if (line[3] === '-') continue
      give({ code: Number(line.slice(0, 3)), text: lines.join('\n') })
      lines = []
    }
  })
  const over = () => {
    ended = true
    for (const next of waiting.splice(0)) next({ code: 0, text: 'closed' })
  }
  socket.on('close', over)
  socket.on('error', over)

  return () => {
    const first = ready.shift()
    if (first) return Promise.resolve(first)
    if (ended) return Promise.resolve({ code: 0, text: 'closed' })
    return new Promise((resolve) => waiting.push(resolve))
  }
}

/** The greeting of a new connection; empty if the server closes it. */
export function readGreeting(port: number, localAddress = '127.0.0.1'): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  return new Promise((resolve) => {
    socket.on('data', (bytes) => {
      resolve(bytes.toString())
      socket.destroy()
    })
    socket.on('error', () => {}).on('close', () => resolve(''))
  })
}
