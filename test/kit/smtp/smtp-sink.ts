import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  from: string
  to: string[]
  /** The mail as it was received. */
  raw: string
}

/** A mail server of another party: accepts every mail, or rejects as configured. */
export async function openSmtpSink() {
  const received: ReceivedMail[] = []
  const state = { refuse: false }
  const waiting: (() => void)[] = []
  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    onAuth: (_auth, _session, done) => done(null, { user: 'anybody' }),
    onData(stream, session, done) {
      void text(stream).then((raw) => {
        if (state.refuse) {
          done(new Error('no room for ann@buyer.example'))
          return
        }
        const { mailFrom, rcptTo } = session.envelope
        const from = mailFrom ? mailFrom.address : ''
        received.push({ from, to: rcptTo.map(({ address }) => address), raw })
        done()
        for (const wake of waiting.splice(0)) wake()
      })
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')

  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    received,
    state,
    /** Resolves with the next mail received after this call. */
    async next(): Promise<ReceivedMail> {
      const { length } = received
      while (received.length === length) {
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
      return received[length] as ReceivedMail
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
