import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSmtpServer, type SmtpServer } from './server.ts'
import { openClient } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'
import { stuffed } from './testing/transcript.ts'

// Differential test against the smtp-server package: the same input must give the same stored bytes and reply classes,
// or there is a reason why not.

const MAX_BYTES = 5_000
const { deps, seen } = recordingDeps()
const theirs: string[] = []
let ours: SmtpServer
let reference: SMTPServer

beforeAll(async () => {
  ours = await openSmtpServer(deps, { port: 0, hostname: 'mx.box.test', maxBytes: MAX_BYTES })
  reference = referenceServer()
  await new Promise<void>((listening) => reference.listen(0, '127.0.0.1', listening))
})
afterAll(async () => {
  await ours.close()
  await new Promise<void>((closed) => reference.close(closed))
})

function referenceServer(): SMTPServer {
  return new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    size: MAX_BYTES,
    maxAllowedUnauthenticatedCommands: false,
    onRcptTo({ address }, _session, done) {
      const offer = { size: 0, others: [], ip: '192.0.2.1' }
      Promise.resolve(deps.acceptRecipient(address, offer)).then((found) => {
        done('refused' in found ? Object.assign(new Error('no'), { responseCode: 550 }) : null)
      }, done)
    },
    onData(stream, _session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        if (stream.sizeExceeded) {
          done(Object.assign(new Error('too big'), { responseCode: 552 }))
          return
        }
        theirs.push(Buffer.concat(chunks).toString('latin1'))
        done()
      })
    },
  })
}

function referencePort(): number {
  return (reference.server.address() as AddressInfo).port
}

/** Sends each line after the reply to the previous one; returns the first digits of the replies. */
async function classes(port: number, lines: readonly string[]): Promise<string> {
  const client = openClient(port)
  try {
    let digits = (await client.reply()).slice(0, 1)
    for (const line of lines) {
      client.send(Buffer.from(`${line}\r\n`, 'latin1'))
      digits += (await client.reply()).slice(0, 1)
    }
    return digits
  } finally {
    client.socket.destroy()
  }
}

const EHLO = 'EHLO a.test'
const MAIL = 'MAIL FROM:<a@a.test>'
const RCPT = 'RCPT TO:<ann@box.test>'

describe('same replies', () => {
  for (const lines of [
    ['HELO a.test', MAIL, RCPT, 'DATA', 'hi\r\n.', 'QUIT'],
    [EHLO, MAIL, RCPT, RCPT, 'DATA', 'hi\r\n.', MAIL],
    [EHLO, 'MAIL FROM:<>', 'RCPT TO:<nobody@box.test>', 'DATA'],
    [EHLO, MAIL, 'RCPT TO:<u@foreign.test>', RCPT, 'RSET', RCPT],
    [MAIL],
    [EHLO, RCPT],
    [EHLO, 'DATA'],
    [EHLO, MAIL, MAIL],
    [EHLO, MAIL, 'DATA'],
    [EHLO, MAIL, EHLO, RCPT],
    ['EHLO', 'HELO', 'NOOP', 'noop', 'RSET', 'WHAT', ''],
    [EHLO, 'MAIL', 'MAIL FROM:', 'MAIL FROM:<a', 'MAIL FROM:<a b@a.test>', 'MAIL FROM:<@a.test>'],
    [EHLO, `MAIL FROM:<a@a.test> SIZE=${MAX_BYTES + 1}`],
    [EHLO, 'MAIL FROM:<a@a.test> SIZE=10 BODY=8BITMIME'],
    [EHLO, 'MAIL FROM:<a@a.test> SMTPUTF8'],
    [EHLO, MAIL, 'RCPT', 'RCPT TO:', 'RCPT TO:<>', 'RCPT TO:<ann'],
    [EHLO, MAIL, RCPT, 'DATA', `${'x\r\n'.repeat(2_000)}.`, MAIL],
    [EHLO, 'STARTTLS', 'AUTH PLAIN', 'ETRN x', 'BDAT 1'],
    [EHLO, 'VRFY ann@box.test', 'VRFY nobody@box.test', 'VRFY'],
  ]) {
    test(lines.join(' | ').slice(0, 90), async () => {
      expect(await classes(ours.port, lines)).toBe(await classes(referencePort(), lines))
    })
  }
})

describe('different replies, because', () => {
  for (const [reason, line, we, they] of [
    ['HELP is not implemented', 'HELP', 5, 2],
    ['RSET takes no argument', 'RSET x', 5, 2],
    ['QUIT takes no argument', 'QUIT x', 5, 2],
    ['a line ends with CRLF', 'NOOP\nNOOP', 5, 2],
    ['a line has at most a thousand bytes', 'NOOP '.padEnd(999, 'a'), 5, 2],
    ['a quoted local part may hold a space', 'MAIL FROM:<"a b"@a.test>', 2, 5],
    ['a parameter name has no underscores', 'MAIL FROM:<a@a.test> __proto__=1', 5, 2],
    ['AUTH is not offered', 'MAIL FROM:<a@a.test> AUTH="', 5, 2],
    ['SMTPUTF8 is missing', 'MAIL FROM:<\xc3\xa9@a.test>', 5, 2],
    ['it is not UTF-8', 'MAIL FROM:<\xff@a.test> SMTPUTF8', 5, 2],
  ] as const) {
    test(reason, async () => {
      expect(await classes(ours.port, [EHLO, line])).toBe(`22${we}`)
      expect(await classes(referencePort(), [EHLO, line])).toBe(`22${they}`)
    })
  }
})

test('the same bytes are stored for random mail', async () => {
  const line = fc.stringMatching(/^[ -~]{0,30}$/)
  const piece = fc.oneof(
    line,
    fc.constantFrom('\r\n', '\r\n.', '.', '\t', '\0', '\xe9\xff', '\r', '\n', '\n.', '\r\n..'),
  )
  const unstuffed = ['\n.\n', '\r\n.\n', '\r.\r\n', '\r\n.\0\r\n', '\r\n.\r\r\n', '\r\n. \r\n']
  const bodies = fc.sample(
    fc.array(piece, { maxLength: 60 }).map((pieces) => `${pieces.join('')}\r\n`),
    { seed: 8, numRuns: 60 },
  )
  seen.mails.length = 0
  theirs.length = 0
  const sent = [...bodies.map(stuffed), ...unstuffed.map((text) => `hi${text}x\r\n.\r\n`)]
  const lines = sent.flatMap((body) => [MAIL, RCPT, 'DATA', body.slice(0, -2)])
  const digits = await classes(ours.port, [EHLO, ...lines])
  expect(digits).toBe(await classes(referencePort(), [EHLO, ...lines]))
  const stored = seen.mails.map(({ raw }) => Buffer.from(raw).toString('latin1'))
  expect(stored).toStrictEqual([...bodies, ...unstuffed.map((text) => `hi${text}x\r\n`)])
  expect(stored).toStrictEqual(theirs)
})
