import { once } from 'node:events'
import { connect } from 'node:net'
import { openSmtpServer, type SmtpServer } from '../../../../src/smtp/server.ts'
import { recordingDeps } from '../../../../src/smtp/testing/recording-deps.ts'
import { check, type FuzzTarget } from '../target.ts'
import { SMTP_SEEDS, SMTP_TOKENS } from './smtp.ts'

const { deps, seen } = recordingDeps()
let server: SmtpServer

/** The dialogue with the server, in segments of any size. */
export const target: FuzzTarget = {
  seeds: SMTP_SEEDS,
  tokens: SMTP_TOKENS,
  maxBytes: 8 * 1024,
  hangMs: 20_000,
  async open() {
    server = await openSmtpServer(deps, { port: 0, hostname: 'mx.box.test', maxBytes: 2_000 })
    return () => server.close()
  },
  async run(input) {
    const socket = connect({ port: server.port, host: '127.0.0.1', noDelay: true })
    let replies = ''
    socket.setEncoding('latin1').on('data', (text) => {
      replies += text
    })
    // The server may close first, and what is sent then is refused.
    socket.on('error', () => {})
    const half = Math.floor(input.length / 2)
    socket.write(input.subarray(0, half))
    setImmediate(() => socket.end(input.subarray(half)))
    await once(socket, 'close')
    check(
      /^(?:220|421|554) /.test(replies) || replies === '',
      `greeted with ${replies.slice(0, 80)}`,
    )
    check(/^(?:\d{3}[ -][ -~]*\r\n)*$/.test(replies), 'a malformed reply')
    const errors = seen.lines.filter(({ level }) => level === 'error')
    for (const list of [seen.lines, seen.mails, seen.asked, seen.traffic, seen.heldIps])
      list.length = 0
    check(errors.length === 0, `logged ${JSON.stringify(errors[0])?.slice(0, 300)}`)
  },
}
