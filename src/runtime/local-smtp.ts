import { lookup } from 'node:dns/promises'
import { localAddress } from '../base/ip.ts'
import { Problem } from '../base/problem.ts'
import { connectSmtp, type SmtpReply } from '../base/smtp-client.ts'
import type { SendLocalMail } from '../mail/send-test.ts'

interface LocalSmtpOptions {
  /** Where our SMTP server listens. */
  host: string
  port: number
  /** Load balancers, which send a PROXY header. */
  proxyFrom: readonly string[]
}

/** A client of our own SMTP server: without TLS, because nothing leaves this machine. */
export function openLocalSmtp({ host, port, proxyFrom }: LocalSmtpOptions): SendLocalMail {
  return async ({ from, to, raw }, onGreeting) => {
    const smtp = await connectFromLoopback().catch(unavailable)
    try {
      if (smtp.greeting.code !== 220) return withStatus(smtp.greeting)
      await onGreeting()
      const data = `${raw.replace(/^\./gm, '..')}.`
      let reply = smtp.greeting
      for (const [line, expected] of [
        ['EHLO localhost', 250],
        [`MAIL FROM:<${from}>`, 250],
        [`RCPT TO:<${to}>`, 250],
        ['DATA', 354],
        [data, 250],
      ] as const) {
        reply = await smtp.command(line)
        if (reply.code === 0) return unavailable(reply.text)
        if (reply.code !== expected) break
      }
      return withStatus(reply)
    } finally {
      smtp.close()
    }
  }

  /** Loopback has no sender limits, and other addresses of this machine have: forwarders may send everybody's mail from there. */
  async function connectFromLoopback() {
    // One address, as the server listens on one.
    const { address, family } = await lookup(localAddress(host))
    const loopback = family === 6 ? '::1' : '127.0.0.1'
    return await connectSmtp({ host: address, port, localAddress: loopback, proxyFrom })
  }
}

function unavailable(cause: unknown): never {
  const message = 'The SMTP server is unavailable. Try again in a moment.'
  throw Object.assign(new Problem('overloaded', message, 1), { cause })
}

/** With the enhanced status code of its last line. */
function withStatus({ code, text }: SmtpReply) {
  const [, status = ''] = /^\d{3} (\d\.\d{1,3}\.\d{1,3}) .*$/m.exec(text) ?? []
  return { code, status }
}
