import type { SmtpClient } from '../../../test/kit/smtp/smtp-client.ts'
import { retryWhileUnavailable, type Tally } from './tally.ts'

// Twice as many must be fewer than the 50 connections that one address may have.
const SENDERS = 16
const REUSED = 0.8

type Mail = { raw: string | Buffer }

export type Senders = ReturnType<typeof openSenders>

/** Sends over a few connections, each for several mails. */
export function openSenders(connect: () => Promise<SmtpClient>, tally: Tally) {
  const senders = Array.from({ length: SENDERS }, () => openSender(connect))
  return {
    /**
     * Sends a mail until it is accepted. `make` makes one for each attempt: with a lost reply, it may have been stored. `mayRefuse`:
     * whether its address may be gone; then it is not accepted.
     */
    async send<M extends Mail>(
      to: string,
      make: () => M,
      mayRefuse: () => boolean = () => false,
    ): Promise<M & { isAccepted: boolean }> {
      tally.secrets.add(to)
      const sender = senders[Math.floor(Math.random() * SENDERS)] ?? openSender(connect)
      const { status, text, ms, mail } = await retryWhileUnavailable(tally, 'SMTP', async () => {
        const mail = make()
        return { ...(await sender.send(to, mail.raw)), mail }
      })
      if (status === 250) tally.took('250', ms)
      else if (status !== 550 || !mayRefuse())
        throw new Error(`mail refused: ${text.slice(0, '550 5.1.1'.length)}`)
      return { ...mail, isAccepted: status === 250 }
    },
    close() {
      for (const sender of senders) sender.close()
    },
  }
}

/** Sends one mail after the other on one connection, which is replaced now and then. */
function openSender(connect: () => Promise<SmtpClient>) {
  let last: Promise<unknown> = Promise.resolve()
  let connection: SmtpClient | undefined
  const close = () => {
    connection?.close()
    connection = undefined
  }
  return {
    send(to: string, raw: string | Buffer) {
      const next = last.then(async () => {
        // The service may have closed it while it was idle, for example when it stopped.
        if (connection?.socket.destroyed) close()
        connection ??= await connect()
        const start = performance.now()
        const { code: status, text } = await connection.send({ to: [to], raw })
        const ms = performance.now() - start
        if (status !== 250 || Math.random() > REUSED) close()
        return { status, text, ms }
      })
      last = next.catch(close)
      return next
    },
    close,
  }
}
