import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { Problem } from '../base/problem.ts'
import type { ReceiveResult, SmtpDeps, SmtpOptions } from './options.ts'
import { openSmtpServer, type SmtpServer } from './server.ts'
import { dialogue, expectReply, openClient } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'

const open: SmtpServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

async function openServer(overrides: Partial<SmtpDeps> = {}, options: Partial<SmtpOptions> = {}) {
  const { deps, seen } = recordingDeps(overrides)
  const server = await openSmtpServer(deps, { port: 0, hostname: 'mx.box.test', ...options })
  open.push(server)
  return { port: server.port, seen }
}

const TO_ANN = [
  ['EHLO sender.test', 250],
  ['MAIL FROM:<a@sender.test>', 250],
  ['RCPT TO:<ann@box.test>', 250],
  ['DATA', 354],
] as const

test('mail to an existing mailbox is accepted, to an unknown one rejected', async () => {
  const { port, seen } = await openServer()
  await dialogue(port, [
    ['EHLO sender.test', 250],
    ['MAIL FROM:<a@sender.test>', 250],
    ['RCPT TO:<nobody@box.test>', '550 5.1.1'],
    ['RCPT TO:<Ann@box.test>', 250],
    ['DATA', 354],
    ['Subject: hi\r\n\r\nhello\r\n.', 250],
    ['QUIT', 221],
  ])
  const [mail] = seen.mails
  expect.assert(mail)
  expect(Buffer.from(mail.raw).toString()).toBe('Subject: hi\r\n\r\nhello\r\n')
  expect(mail.recipients).toStrictEqual(['ann@box.test'])
  expect(mail.envelope).toStrictEqual({
    clientIp: '127.0.0.1',
    helo: 'sender.test',
    mailFrom: 'a@sender.test',
    tls: undefined,
    protocol: 'ESMTP',
  })
})

test('each reason to reject a recipient has its own reply; the declared size is passed on', async () => {
  const { port, seen } = await openServer()
  await dialogue(port, [
    ['HELO sender.test', 250],
    ['MAIL FROM:<> SIZE=77', 250],
    ['RCPT TO:<nobody@box.test>', '550 5.1.1'],
    ['RCPT TO:<u@foreign.test>', '550 5.7.1'],
    ['RCPT TO:<full@box.test>', '452 4.2.2'],
    ['RCPT TO:<"q"@box.test>', '550 5.1.1'],
    ['RCPT TO:<postmaster>', '250 2.1.5'],
    ['DATA', 354],
    ['.', 250],
  ])
  expect(seen.mails[0]?.recipients).toStrictEqual(['postmaster@box.test'])
  expect(seen.mails[0]?.envelope.protocol).toBe('SMTP')
  expect(seen.asked.every(({ size }) => size === 77)).toBeTruthy()
})

test('a whole session in one packet is answered in order', async () => {
  const { port, seen } = await openServer()
  const client = openClient(port)
  client.send(
    'EHLO a.test\r\nMAIL FROM:<a@a.test>\r\nRCPT TO:<nobody@box.test>\r\nRCPT TO:<ann@box.test>\r\n' +
      'DATA\r\none\r\n.\r\nMAIL FROM:<a@a.test>\r\nRCPT TO:<bob@box.test>\r\nDATA\r\ntwo\r\n.\r\nQUIT\r\n' +
      'MAIL FROM:<late@a.test>\r\n',
  )
  const codes = [...(await client.rest()).matchAll(/^(\d{3}) /gm)].map(([, code]) => code)
  expect(codes.join(' ')).toBe('220 250 250 550 250 354 250 250 250 354 250 221')
  expect(seen.mails.map(({ raw }) => Buffer.from(raw).toString())).toStrictEqual([
    'one\r\n',
    'two\r\n',
  ])
})

test('a client that half-closes after its last command still gets every reply', async () => {
  const { port, seen } = await openServer()
  const client = openClient(port)
  client.socket.end('EHLO a.test\r\nMAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\nx\r\n.\r\n')
  expect(await client.rest()).toMatch(/354 [^\r]*\r\n250 2\.0\.0 Message accepted\r\n$/)
  expect(seen.mails.length).toBe(1)
})

describe('reply to DATA by result', () => {
  const fail = (error: Error) => async () => {
    throw error
  }
  const resolve = (result: ReceiveResult) => async () => result
  for (const [name, receive, reply] of [
    ['stored', resolve({ outcome: 'stored', recipients: [] }), '250 2.0.0'],
    ['all recipients expired meanwhile', resolve({ outcome: 'no_recipients' }), '550 5.1.1'],
    ['mailbox full', resolve({ outcome: 'full' }), '452 4.2.2'],
    ['storage full', fail(new Problem('overloaded', 'disk full')), '452 4.3.1'],
    ['another problem', fail(new Problem('internal', 'oh')), '451 4.3.0'],
    ['an unexpected error', fail(new TypeError('secret detail')), '451 4.3.0'],
  ] as const) {
    test(`${name}: ${reply}`, async () => {
      const { port, seen } = await openServer({ receiveMail: receive })
      await dialogue(port, [...TO_ANN, ['hello body\r\n.', reply], ['NOOP', 250]])
      const logged = JSON.stringify(seen.lines)
      const levels = seen.lines.map(({ level }) => level)
      expect(levels).toStrictEqual(reply.startsWith('451') ? ['error', 'debug'] : ['debug'])
      expect(logged).not.toMatch(/ann@|hello body/)
      expect(seen.reserved).toBe(0)
    })
  }
})

describe('at MAIL', () => {
  const reason = 'the operator knows'
  const boom = async () => {
    throw new Error('store gone')
  }
  for (const [name, overrides, reply] of [
    ['a full disk', { storageFault: async () => ({ kind: 'full' as const, reason }) }, '452 4.3.1'],
    [
      'an unavailable store',
      { storageFault: async () => ({ kind: 'unavailable' as const, reason }) },
      '451 4.3.0',
    ],
    ['too many mails', { allowMail: async () => false }, '450 4.7.1'],
    ['an error while checking the store', { storageFault: boom }, '451 4.3.0'],
    ['an error while counting', { allowMail: boom }, '451 4.3.0'],
    ['no memory for the declared size', { reserveBytes: () => false }, '452 4.3.1'],
  ] as const) {
    test(`${name} is ${reply}, and no transaction starts`, async () => {
      const { port } = await openServer(overrides)
      await dialogue(port, [
        ['EHLO a.test', 250],
        ['MAIL FROM:<a@a.test> SIZE=100', reply],
        ['RCPT TO:<ann@box.test>', 503],
      ])
    })
  }

  test('an error while checking a recipient is 451', async () => {
    const { port, seen } = await openServer({ acceptRecipient: boom })
    await dialogue(port, [...TO_ANN.slice(0, 2), ['RCPT TO:<ann@box.test>', '451 4.3.0']])
    expect(seen.lines[0]?.level).toBe('error')
    expect(JSON.stringify(seen.lines)).not.toMatch(/ann@/)
  })
})

describe('memory for mail in progress', () => {
  test('if none is left, mail is deferred with 452, in one chunk or in many', async () => {
    const { port, seen } = await openServer({ reserveBytes: () => false, releaseBytes: () => {} })
    await dialogue(port, [...TO_ANN, ['hello\r\n.', '452 4.3.1'], ['NOOP', 250]])
    const client = openClient(port)
    client.send('EHLO a.test\r\nMAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\n')
    for (const code of [220, 250, 250, 250, 354]) await expectReply(client, 'opening', code)
    client.socket.end(`${'x'.repeat(200_000)}\r\n.\r\nNOOP\r\n`)
    expect(await client.rest()).toMatch(/^452 4\.3\.1 [^\r]*\r\n250 /)
    expect(seen.mails.length).toBe(0)
  })

  test('is reserved as data arrives and released when the client disconnects', async () => {
    const { port, seen } = await openServer()
    const client = openClient(port)
    client.send('EHLO a.test\r\nMAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\n')
    client.send('x'.repeat(100_000))
    await waitUntil(() => seen.reserved >= 100_000)
    client.socket.destroy()
    await waitUntil(() => seen.reserved === 0)
  })
})

test('a connection over the limit gets 421', async () => {
  const { port } = await openServer({ acquireConnection: () => undefined })
  expect(await openClient(port).rest()).toMatch(/^421 4\.7\.0 [^\r]*\r\n$/)
})

test('a client of another protocol is rejected with one log line', async () => {
  const { port, seen } = await openServer()
  for (const hello of ['GET / HTTP/1.1\r\n\r\n', 'SSH-2.0-x\r\n', '\x16\x03\x01\x02\x00\x01']) {
    const client = openClient(port)
    await client.reply()
    client.send(Buffer.from(hello, 'latin1'))
    expect(await client.rest()).toMatch(/^500 5\.5\.2 [^\r]*\r\n$/)
  }
  expect(seen.lines.map(({ facts }) => facts['reason'])).toStrictEqual([
    'not_smtp',
    'not_smtp',
    'not_smtp',
  ])
})

test('we stop reading from a client that does not read our replies', async () => {
  const { port, seen } = await openServer({}, { limits: { maxCommands: 10_000_000 } })
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  socket.on('error', () => {})
  const noops = Buffer.from('NOOP\r\n'.repeat(10_000))
  // Kernel buffers hold a few megabytes; beyond that, only our memory could grow.
  let sent = 0
  const send = () => {
    while (sent < 200_000_000 && !socket.destroyed) {
      sent += noops.length
      if (!socket.write(noops)) return
    }
  }
  socket.on('drain', send)
  send()
  let before = -1
  let still = 0
  await waitUntil(() => {
    still = sent === before ? still + 1 : 0
    before = sent
    return still > 100 || sent >= 200_000_000
  })
  expect(sent).toBeLessThan(200_000_000)
  socket.destroy()
  await waitUntil(() => seen.held === 0)
})

test('endless DATA is closed with 552', async () => {
  const { port, seen } = await openServer({}, { maxBytes: 100_000 })
  const client = openClient(port)
  client.send('EHLO a.test\r\nMAIL FROM:<> SIZE=10\r\nRCPT TO:<ann@box.test>\r\nDATA\r\n')
  for (const code of [220, 250, 250, 250, 354]) await expectReply(client, 'opening', code)
  const block = Buffer.alloc(100_000, 'endless\n')
  const most = 100_000_000
  const send = () => {
    while (client.socket.bytesWritten < most && !client.socket.destroyed) {
      if (!client.socket.write(block)) return
    }
  }
  client.socket.on('drain', send)
  send()
  expect(await client.rest()).toMatch(/^552 5\.3\.4 [^\r]*\r\n$/)
  expect(client.socket.bytesWritten).toBeLessThan(most / 2)
  await waitUntil(() => seen.held === 0 && seen.reserved === 0)
  expect(seen.mails.length).toBe(0)
})

test('an IPv6 client is served and counted by its address', async () => {
  const { port, seen } = await openServer()
  const client = openClient(port, '::1')
  await expectReply(client, 'the greeting', 220)
  client.socket.destroy()
  expect(seen.heldIps).toStrictEqual(['::1'])
})

test('two servers share a port only if both set reusePort', async () => {
  const { port } = await openServer()
  await expect(openServer({}, { port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  const first = await openServer({}, { reusePort: true })
  const second = await openServer({}, { reusePort: true, port: first.port })
  await Promise.all(Array.from({ length: 50 }, () => dialogue(first.port, TO_ANN)))
  await waitUntil(() => first.seen.held + second.seen.held === 0)
  expect(first.seen.asked.length > 0 && second.seen.asked.length > 0).toBeTruthy()
})
