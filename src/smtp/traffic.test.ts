import { afterEach, describe, expect, test } from 'vitest'
import { waitUntil } from '../../test/kit/wait-until.ts'
import type { SmtpDeps, SmtpOptions } from './options.ts'
import { openSmtpServer, type SmtpServer } from './server.ts'
import { dialogue, expectReply, openClient } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'

const open: SmtpServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

async function serve(overrides: Partial<SmtpDeps> = {}, options: Partial<SmtpOptions> = {}) {
  const { deps, seen } = recordingDeps(overrides)
  const server = await openSmtpServer(deps, { port: 0, hostname: 'mx.box.test', ...options })
  open.push(server)
  const bytes = () => seen.traffic.reduce((sum, one) => sum + one.bytes, 0)
  return { port: server.port, seen, bytes }
}

const TO_ANN = [
  ['EHLO sender.test', 250],
  ['MAIL FROM:<a@sender.test>', 250],
  ['RCPT TO:<ann@box.test>', 250],
  ['DATA', 354],
] as const
const BODY = `Subject: hi\r\n\r\n${'x'.repeat(500)}\r\n.`

test('the mail that crosses the hourly limit is accepted, the next is deferred at MAIL', async () => {
  let left = 400
  const { port, seen } = await serve({
    allowTraffic: async () => left > 0,
    countTraffic: (_ip, bytes) => {
      left -= bytes
    },
  })
  await dialogue(port, [
    ...TO_ANN,
    [BODY, '250 2.0.0'],
    ['MAIL FROM:<a@sender.test>', '450 4.7.1'],
    ['RCPT TO:<ann@box.test>', 503],
    ['QUIT', 221],
  ])
  expect(seen.mails.length).toBe(1)
})

describe('bytes are counted exactly once for', () => {
  const SENT = BODY.length + 2

  test('accepted mail', async () => {
    const { port, seen, bytes } = await serve()
    await dialogue(port, [...TO_ANN, [BODY, 250], ['NOOP', 250]])
    expect(seen.traffic).toStrictEqual([{ ip: '127.0.0.1', bytes: SENT }])
    expect(bytes()).toBe(SENT)
  })

  test('mail to a full mailbox', async () => {
    const { port, bytes } = await serve({ receiveMail: async () => ({ outcome: 'full' }) })
    await dialogue(port, [...TO_ANN, [BODY, '452 4.2.2']])
    expect(bytes()).toBe(SENT)
  })

  test('oversized mail', async () => {
    const { port, bytes } = await serve({}, { maxBytes: 100 })
    await dialogue(port, [...TO_ANN, [BODY, 552], ['NOOP', 250]])
    expect(bytes()).toBe(SENT)
  })

  test('mail deferred for lack of memory', async () => {
    const { port, bytes } = await serve({ reserveBytes: () => false })
    await dialogue(port, [...TO_ANN, [BODY, '452 4.3.1'], ['NOOP', 250]])
    expect(bytes()).toBe(SENT)
  })

  test('several mails in one packet, commands excluded', async () => {
    const { port, seen } = await serve()
    const mail = `MAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\n${BODY}\r\n`
    const client = openClient(port)
    client.send(`EHLO a.test\r\n${mail}${mail}QUIT\r\n`)
    await client.rest()
    expect(seen.traffic.map((one) => one.bytes)).toStrictEqual([SENT, SENT])
  })

  test('aborted mail', async () => {
    const { port, bytes } = await serve()
    const client = openClient(port)
    await expectReply(client, 'the greeting', 220)
    for (const [command, code] of TO_ANN) {
      client.send(`${command}\r\n`)
      await expectReply(client, command, code)
    }
    client.send('half a mail')
    client.socket.end()
    await waitUntil(() => bytes() === 'half a mail'.length)
  })
})

test('the recipient check gets the client address and the recipients accepted so far', async () => {
  const { port, seen } = await serve()
  const [ehlo, mail, rcpt] = TO_ANN
  const more = [
    ['RCPT TO:<nobody@box.test>', 550],
    ['RCPT TO:<bob@box.test>', 250],
  ] as const
  await dialogue(port, [ehlo, mail, rcpt, ...more, ['RSET', 250], mail, rcpt])
  expect(seen.asked.every(({ ip }) => ip === '127.0.0.1')).toBeTruthy()
  expect(seen.asked.map(({ others }) => others.map(({ address }) => address))).toStrictEqual([
    [],
    ['ann@box.test'],
    ['ann@box.test'],
    [],
  ])
})
