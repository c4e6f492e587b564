import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Address } from '../../../../src/base/address.ts'
import { OPERATOR } from '../../../../src/mail/rules/session.ts'
import { openSmtpServer, type SmtpServer } from '../../../../src/smtp/server.ts'
import { recordingDeps } from '../../../../src/smtp/testing/recording-deps.ts'
import { transcript } from '../../../../src/smtp/testing/transcript.ts'
import { check, type FuzzTarget } from '../target.ts'
import { SMTP_SEEDS, SMTP_TOKENS } from './smtp.ts'

const MAX_BYTES = 2_000
const { deps, seen } = recordingDeps({
  // The result of the transcript, but later: meanwhile, more may arrive.
  async acceptRecipient(text) {
    await sleep(1)
    return { address: text.toLowerCase() as Address, mailbox: OPERATOR }
  },
})
let server: SmtpServer
let received: Buffer[] = []

/** The dialogue with the server, in two segments; it receives the same mails as without a socket. */
export const target: FuzzTarget = {
  seeds: SMTP_SEEDS,
  tokens: SMTP_TOKENS,
  maxBytes: 8 * 1024,
  async open() {
    server = await openSmtpServer(deps, { port: 0, hostname: 'mx.box.test', maxBytes: MAX_BYTES })
    return () => server.close()
  },
  async run(input) {
    const socket = connect({ port: server.port, host: '127.0.0.1', noDelay: true })
    let replies = ''
    socket.setEncoding('latin1').on('data', (text) => {
      replies += text
    })
    // The server may close first, and what is sent then is refused.
    let isReset = false
    socket.on('error', () => {
      isReset = true
    })
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const half = Math.floor(input.length / 2)
    await once(socket, 'connect')
    socket.write(input.subarray(0, half))
    await sleep(1)
    socket.end(input.subarray(half))
    await closed
    check(/^220 /.test(replies) || isReset, `greeted with ${replies.slice(0, 80)}`)
    check(/^(?:\d{3}[ -][ -~]*\r\n)*$/.test(replies), 'a malformed reply')
    const errors = seen.lines.filter(({ level }) => level === 'error')
    received = seen.mails.map(({ raw }) => Buffer.from(raw))
    for (const list of [seen.lines, seen.mails, seen.traffic, seen.heldIps]) list.length = 0
    check(errors.length === 0, `logged ${JSON.stringify(errors[0])?.slice(0, 300)}`)
    return received.length > 0
  },
  compare(input) {
    const { mails } = transcript([input], { offerTls: false, maxBytes: MAX_BYTES })
    const isSame = isDeepStrictEqual(
      received,
      mails.map(({ raw }) => Buffer.from(raw)),
    )
    check(isSame, `${received.length} mails, without a socket ${mails.length}`)
  },
}
