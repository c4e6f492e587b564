import { afterEach, describe, expect, test } from 'vitest'
import { waitUntil } from '../../test/kit/wait-until.ts'
import type { MailLog } from '../mail/log/mail-log.ts'
import type { MailLogEvent } from '../mail/log/rules.ts'
import type { ReceiveResult, SmtpDeps, SmtpOptions } from './options.ts'
import { openSmtpServer, type SmtpServer } from './server.ts'
import { dialogue, expectReply, openClient } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'

const open: SmtpServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

type Line = Omit<MailLogEvent, 'at' | 'ms'>

async function openServer(overrides: Partial<SmtpDeps> = {}, options: Partial<SmtpOptions> = {}) {
  const lines: Line[] = []
  const mailLog: Pick<MailLog, 'add' | 'newId'> = {
    newId: () => 'id1',
    add(source, result, describe) {
      const { ms, ...line } = describe()
      expect(ms ?? 0).toBeGreaterThanOrEqual(0)
      lines.push({ ...source, result, ...line })
    },
  }
  const { deps, seen } = recordingDeps({ mailLog, ...overrides })
  const server = await openSmtpServer(deps, { port: 0, hostname: 'mx.box.test', ...options })
  open.push(server)
  return { port: server.port, lines, seen, server }
}

const HELLO = [
  ['EHLO mx.sender.test', 250],
  ['MAIL FROM:<a@sender.test>', 250],
] as const
const TO_ANN = [...HELLO, ['RCPT TO:<ann@box.test>', 250], ['DATA', 354]] as const
const MAIL = 'Subject: hi\r\n\r\nhello\r\n.'
const CLIENT = { ip: '127.0.0.1', helo: 'mx.sender.test', tls: undefined }
const OF_MAIL = { ...CLIENT, command: 'DATA', sender: 'a@sender.test', size: 0 }
const ANN = expect.objectContaining({ address: 'ann@box.test' })

test('an accepted mail is one line, with the id of the reply', async () => {
  const { port, lines } = await openServer()
  await dialogue(port, [
    ...TO_ANN.slice(0, 3),
    ['RCPT TO:<Bob@box.test>', 250],
    ['DATA', 354],
    [MAIL, '250 2.0.0 Message accepted as id1'],
    ['QUIT', 221],
  ])
  const bob = expect.objectContaining({ address: 'bob@box.test' })
  const expected = { ...OF_MAIL, result: 'accepted', reason: '', id: 'id1', size: 22 }
  expect(lines).toEqual([{ ...expected, recipients: [ANN, bob] }])
})

test('an accepted mail names only the recipients that have it', async () => {
  const { port, lines } = await openServer({
    receiveMail: async ({ recipients }) => ({
      outcome: 'stored',
      recipients: recipients.slice(0, 1),
    }),
  })
  const twoRecipients = [...TO_ANN.slice(0, 3), ['RCPT TO:<ended@box.test>', 250]] as const
  await dialogue(port, [...twoRecipients, ['DATA', 354], [MAIL, 250]])
  expect(lines).toMatchObject([{ result: 'accepted', recipients: [ANN] }])
})

test('each refused command is a line', async () => {
  const { port, lines } = await openServer({}, { maxBytes: 1_000 })
  await dialogue(port, [
    ['MAIL FROM:<a@sender.test>', 503],
    ['EHLO mx.sender.test', 250],
    ['MAIL FROM:<not an address>', 501],
    ['MAIL FROM:<big@sender.test> SIZE=9999', 552],
    ['MAIL FROM:<a@sender.test>', 250],
    ['RCPT TO:<nobody@box.test>', 550],
    ['RCPT TO:<x@foreign.test>', 550],
    ['RCPT TO:<full@box.test>', 452],
    ['RCPT TO:<\u00fc@box.test>', 550],
    ['DATA', 554],
    ['AUTH PLAIN AGNhbmFyeQBjYW5hcnk=', 502],
    ['CANARY', 500],
    ['QUIT', 221],
  ])
  const shown = lines.map(({ command, result, reason, sender, recipients = [] }) =>
    [
      command,
      result,
      reason.slice(0, 9),
      sender,
      ...recipients.map(({ address }) => address),
    ].join(),
  )
  expect(shown).toEqual([
    'MAIL,refused,503 5.5.1,',
    'MAIL,refused,501 5.1.7,',
    'MAIL,refused,552 5.3.4,big@sender.test',
    'RCPT,refused,550 5.1.1,a@sender.test,nobody@box.test',
    'RCPT,refused,550 5.7.1,a@sender.test,x@foreign.test',
    'RCPT,deferred,452 4.2.2,a@sender.test,full@box.test',
    'RCPT,refused,550 5.6.7,a@sender.test,\u00fc@box.test',
    'DATA,refused,554 5.5.1,a@sender.test',
    'AUTH,refused,502 5.5.1,a@sender.test',
    ',refused,500 5.5.2,a@sender.test',
  ])
  expect(JSON.stringify(lines)).not.toMatch(/canary/i)
})

test('a recipient beyond the limit is a line', async () => {
  const { port, lines } = await openServer({}, { limits: { maxRecipients: 1 } })
  await dialogue(port, [...TO_ANN.slice(0, 3), ['RCPT TO:<bob@label.box.test>', 452]])
  // Whether its domain is a wildcard is not known.
  const recipients = [{ address: 'bob@label.box.test', wildcard: true }]
  expect(lines).toMatchObject([{ command: 'RCPT', result: 'deferred', recipients }])
})

describe('a refused MAIL is a line:', () => {
  for (const [name, overrides, result, reason] of [
    [
      'a blocked sender',
      { isBlocked: ({ sender }) => sender !== undefined },
      'refused',
      '550 5.7.1',
    ],
    ['too many mails', { allowMail: () => false }, 'deferred', '450 4.7.1'],
    ['too much data', { allowTraffic: async () => false }, 'deferred', '450 4.7.1'],
    ['no space', { storageFault: () => ({ kind: 'full', reason: '' }) }, 'deferred', '452 4.3.1'],
    [
      'an unavailable store',
      { storageFault: () => ({ kind: 'unavailable', reason: '' }) },
      'deferred',
      '451 4.3.0',
    ],
  ] as const satisfies [string, Partial<SmtpDeps>, string, string][]) {
    test(name, async () => {
      const { port, lines } = await openServer(overrides)
      await dialogue(port, [HELLO[0], ['MAIL FROM:<a@sender.test>', reason.slice(0, 3)]])
      const line = { ...CLIENT, command: 'MAIL', result, sender: 'a@sender.test', recipients: [] }
      expect(lines).toMatchObject([{ ...line, reason: expect.stringContaining(reason) }])
    })
  }
})

describe('a mail that is not stored is a line:', () => {
  for (const [outcome, result, reason] of [
    ['no_recipients', 'refused', '550 5.1.1'],
    ['full', 'deferred', '452 4.2.2'],
    ['blocked', 'refused', '550 5.7.1'],
    ['sender_not_allowed', 'refused', '550 5.7.1'],
    ['fails', 'deferred', '451 4.3.0'],
  ] as const) {
    test(outcome, async () => {
      const { port, lines } = await openServer({
        async receiveMail() {
          if (outcome === 'fails') throw new Error('a bug')
          return { outcome }
        },
      })
      await dialogue(port, [...TO_ANN, [MAIL, reason.slice(0, 3)]])
      const line = { ...OF_MAIL, result, size: 22, recipients: [ANN] }
      expect(lines).toEqual([{ ...line, reason: expect.stringContaining(reason) }])
    })
  }

  test('too big', async () => {
    const { port, lines } = await openServer({}, { maxBytes: 100 })
    await dialogue(port, [...TO_ANN, [`${'x'.repeat(60)}\r\n`.repeat(9).concat('.'), 552]])
    expect(lines).toMatchObject([{ ...OF_MAIL, result: 'refused', recipients: [ANN] }])
  })

  test('endless', async () => {
    const { port, lines } = await openServer({}, { maxBytes: 100 })
    const client = openClient(port)
    await expectReply(client, 'the greeting', 220)
    for (const [command, code] of TO_ANN) {
      client.send(`${command}\r\n`)
      await expectReply(client, command, code)
    }
    client.send('x'.repeat(600_000))
    expect(await client.rest()).toMatch(/^552 /)
    await waitUntil(() => lines.length > 0)
    expect(lines).toMatchObject([{ ...OF_MAIL, result: 'refused', recipients: [ANN] }])
  })
})

test('a connection that ends during DATA is a line', async () => {
  const { port, lines } = await openServer()
  const client = openClient(port)
  for (const [command] of TO_ANN) client.send(`${command}\r\n`)
  for (let replies = 0; replies < 5; replies += 1) await client.reply()
  client.send('Subject: never compl')
  client.socket.destroy()
  await waitUntil(() => lines.length > 0)
  const reason = 'the client closed the connection'
  expect(lines).toEqual([{ ...OF_MAIL, result: 'aborted', reason, recipients: [ANN] }])
})

test('a mail whose sender left before the reply is a line', async () => {
  const stored = Promise.withResolvers<ReceiveResult>()
  const { port, lines, seen } = await openServer({ receiveMail: () => stored.promise })
  const client = openClient(port)
  for (const [command] of TO_ANN) client.send(`${command}\r\n`)
  for (let replies = 0; replies < 5; replies += 1) await client.reply()
  client.send(`${MAIL}\r\n`)
  await waitUntil(() => seen.reserved > 0)
  client.socket.resetAndDestroy()
  await waitUntil(() => seen.held === 0)
  stored.resolve({ outcome: 'stored', recipients: [] })
  await waitUntil(() => lines.length > 0)
  expect(lines).toMatchObject([{ ...OF_MAIL, result: 'accepted', size: 22, id: 'id1' }])
})

describe('a connection that gets no session is a line:', () => {
  test('a blocked client, once', async () => {
    const { port, lines } = await openServer({ isBlocked: () => true })
    const client = openClient(port)
    await expectReply(client, 'the greeting', 554)
    client.send('EHLO mx.sender.test\r\nMAIL FROM:<a@sender.test>\r\nQUIT\r\n')
    await client.rest()
    const line = { ip: '127.0.0.1', command: 'CONNECT', result: 'refused' }
    expect(lines).toEqual([{ ...line, reason: expect.stringMatching(/^554 5\.7\.1 .*[^\r\n]$/) }])
  })

  test('too many connections', async () => {
    const { port, lines } = await openServer({ acquireConnection: () => undefined })
    expect(await openClient(port).rest()).toMatch(/^421 /)
    expect(lines).toMatchObject([{ command: 'CONNECT', result: 'deferred' }])
  })
})

test('a log that throws changes no reply', async () => {
  const { port, seen } = await openServer({
    mailLog: {
      newId: () => 'id1',
      add() {
        throw new Error('the log is broken')
      },
    },
  })
  await dialogue(port, HELLO)
  expect(seen.lines).toEqual([])
})
