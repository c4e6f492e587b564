import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { ipRangeMatcher } from '../base/ip.ts'
import { Problem } from '../base/problem.ts'
import type { SendLocalMail } from '../mail/send-test.ts'

interface LocalSmtpOptions {
  /** Where our SMTP server listens. */
  host: string
  port: number
  /** Load balancers, which send a PROXY header. */
  proxyFrom: readonly string[]
  /** How long a reply may take; only tests set it. */
  timeoutMs?: number
}

const TIMEOUT_MS = 10_000
const ANY_ADDRESS = new Set(['::', '0.0.0.0'])

/** A client of our own SMTP server: without TLS, because nothing leaves this machine. */
export function openLocalSmtp({
  host,
  port,
  proxyFrom,
  timeoutMs = TIMEOUT_MS,
}: LocalSmtpOptions): SendLocalMail {
  const isProxy = ipRangeMatcher(proxyFrom)
  return async ({ from, to, raw }, onGreeting) => {
    let socket: Socket | undefined
    try {
      socket = await connectFromLoopback(
        ANY_ADDRESS.has(host) ? '127.0.0.1' : host,
        port,
        timeoutMs,
      )
      const send = openDialogue(socket)
      const proxied = isProxy(socket.localAddress ?? '') ? 'PROXY UNKNOWN\r\n' : ''
      const greeting = await send([[proxied, 220]])
      if (greeting.code !== 220) return greeting
      await onGreeting()
      return await send([
        ['EHLO localhost\r\n', 250],
        [`MAIL FROM:<${from}>\r\n`, 250],
        [`RCPT TO:<${to}>\r\n`, 250],
        ['DATA\r\n', 354],
        [`${raw.replace(/^\./gm, '..')}.\r\n`, 250],
      ])
    } catch (error) {
      // Only errors of the system: all others are bugs.
      throw error instanceof Error && 'syscall' in error ? new SmtpUnavailable(error) : error
    } finally {
      socket?.destroy()
    }
  }
}

/** Loopback has no sender limits, and other addresses of this machine have: forwarders may send everybody's mail from there. */
async function connectFromLoopback(host: string, port: number, timeout: number): Promise<Socket> {
  // One address, as the server listens on one. Before there is a socket: nobody would handle its errors meanwhile.
  const { address, family } = await lookup(host)
  const localAddress = family === 6 ? '::1' : '127.0.0.1'
  const socket = connect({ host: address, port, localAddress, timeout })
  socket.on('timeout', () => socket.destroy(new SmtpUnavailable('no reply in time')))
  await once(socket, 'connect')
  return socket
}

class SmtpUnavailable extends Problem {
  constructor(cause: unknown) {
    super('overloaded', 'The SMTP server is unavailable. Try again in a moment.', 1)
    this.cause = cause
  }
}

/** Writes each text and reads its reply, up to the first one that is not as expected. */
function openDialogue(socket: Socket) {
  const replies = readReplies(socket)
  return async (steps: readonly (readonly [text: string, code: number])[]) => {
    let reply = { code: 0, status: '' }
    for (const [text, expected] of steps) {
      socket.write(text)
      const { value, done } = await replies.next()
      if (done) throw new SmtpUnavailable('the connection was closed')
      reply = value
      if (reply.code !== expected) break
    }
    return reply
  }
}

/** The last line of each reply, with its enhanced status code. */
async function* readReplies(socket: Socket) {
  for await (const line of createInterface(socket)) {
    const [, code, status = ''] = /^(\d{3}) (?:(\d\.\d{1,3}\.\d{1,3}) )?/.exec(line) ?? []
    if (code !== undefined) yield { code: Number(code), status }
  }
}
