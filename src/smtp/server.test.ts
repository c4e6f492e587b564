import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { afterEach, describe, test } from 'vitest'
import { Problem } from '../core/problem.ts'
import type { SmtpDeps, SmtpOptions } from './options.ts'
import { openSmtpServer, type SmtpServer } from './server.ts'
import { dialogue, expectReply, openClient } from './testing/dialogue.ts'
import { eventually } from './testing/eventually.ts'
import { recordingDeps } from './testing/recording-deps.ts'

const open: SmtpServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

async function door(overrides: Partial<SmtpDeps> = {}, options: Partial<SmtpOptions> = {}) {
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

test('a mail for somebody here is taken, one for nobody is not', async () => {
  const { port, seen } = await door()
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
  assert.ok(mail)
  assert.equal(Buffer.from(mail.raw).toString(), 'Subject: hi\r\n\r\nhello\r\n')
  assert.deepEqual(mail.recipients, ['ann@box.test'])
  assert.deepEqual(mail.envelope, {
    clientIp: '127.0.0.1',
    helo: 'sender.test',
    mailFrom: 'a@sender.test',
    tls: undefined,
    protocol: 'ESMTP',
  })
})

test('each refusal of a recipient has its own reply, and the declared size is passed on', async () => {
  const { port, seen } = await door()
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
  assert.deepEqual(seen.mails[0]?.recipients, ['postmaster@box.test'])
  assert.equal(seen.mails[0]?.envelope.protocol, 'SMTP')
  assert.ok(seen.asked.every(({ size }) => size === 77))
})

test('a whole session in one packet is answered in one go, in order', async () => {
  const { port, seen } = await door()
  const client = openClient(port)
  client.send(
    'EHLO a.test\r\nMAIL FROM:<a@a.test>\r\nRCPT TO:<nobody@box.test>\r\nRCPT TO:<ann@box.test>\r\n' +
      'DATA\r\none\r\n.\r\nMAIL FROM:<a@a.test>\r\nRCPT TO:<bob@box.test>\r\nDATA\r\ntwo\r\n.\r\nQUIT\r\n' +
      'MAIL FROM:<late@a.test>\r\n',
  )
  const codes = [...(await client.rest()).matchAll(/^(\d{3}) /gm)].map(([, code]) => code)
  assert.equal(codes.join(' '), '220 250 250 550 250 354 250 250 250 354 250 221')
  assert.deepEqual(
    seen.mails.map(({ raw }) => Buffer.from(raw).toString()),
    ['one\r\n', 'two\r\n'],
  )
})

test('a client that sends all it has and shuts its side still hears every answer', async () => {
  const { port, seen } = await door()
  const client = openClient(port)
  client.socket.end('EHLO a.test\r\nMAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\nx\r\n.\r\n')
  assert.match(await client.rest(), /354 [^\r]*\r\n250 2\.0\.0 kept\r\n$/)
  assert.equal(seen.mails.length, 1)
})

describe('what the house says to a mail', () => {
  const fail = (error: Error) => async () => {
    throw error
  }
  const say = (outcome: 'kept' | 'nobody' | 'full') => async () => outcome
  for (const [name, receive, reply] of [
    ['kept', say('kept'), '250 2.0.0'],
    ['everybody gone meanwhile', say('nobody'), '550 5.1.1'],
    ['no room in the mailbox', say('full'), '452 4.2.2'],
    ['no space at all', fail(new Problem('overloaded', 'disk full')), '452 4.3.1'],
    ['another refusal', fail(new Problem('internal', 'oh')), '451 4.3.0'],
    ['a fault', fail(new TypeError('secret detail')), '451 4.3.0'],
  ] as const) {
    test(`${name}: ${reply}`, async () => {
      const { port, seen } = await door({ receiveMail: receive })
      await dialogue(port, [...TO_ANN, ['hello body\r\n.', reply], ['NOOP', 250]])
      const logged = JSON.stringify(seen.lines)
      const levels = seen.lines.map(({ level }) => level)
      assert.deepEqual(levels, reply.startsWith('451') ? ['error', 'debug'] : ['debug'])
      assert.doesNotMatch(logged, /ann@|hello body/)
      assert.equal(seen.reserved, 0)
    })
  }
})

describe('before a mail', () => {
  const reason = 'the operator knows'
  const boom = async () => {
    throw new Error('store gone')
  }
  for (const [name, overrides, reply] of [
    ['a full disk', { obstacle: async () => ({ kind: 'full' as const, reason }) }, '452 4.3.1'],
    [
      'a store that is away',
      { obstacle: async () => ({ kind: 'away' as const, reason }) },
      '451 4.3.0',
    ],
    ['too many mails', { takeMail: async () => false }, '450 4.7.1'],
    ['a fault in asking for obstacles', { obstacle: boom }, '451 4.3.0'],
    ['a fault in counting', { takeMail: boom }, '451 4.3.0'],
    ['no memory for its size', { reserveBytes: () => false }, '452 4.3.1'],
  ] as const) {
    test(`${name} is answered ${reply} at MAIL, and nothing is begun`, async () => {
      const { port } = await door(overrides)
      await dialogue(port, [
        ['EHLO a.test', 250],
        ['MAIL FROM:<a@a.test> SIZE=100', reply],
        ['RCPT TO:<ann@box.test>', 503],
      ])
    })
  }

  test('a fault in asking for a recipient is answered 451', async () => {
    const { port, seen } = await door({ acceptRecipient: boom })
    await dialogue(port, [...TO_ANN.slice(0, 2), ['RCPT TO:<ann@box.test>', '451 4.3.0']])
    assert.equal(seen.lines[0]?.level, 'error')
    assert.doesNotMatch(JSON.stringify(seen.lines), /ann@/)
  })
})

describe('bytes in flight', () => {
  test('without room for them a mail is refused with 452, whole or in pieces', async () => {
    const { port, seen } = await door({ reserveBytes: () => false, releaseBytes: () => {} })
    await dialogue(port, [...TO_ANN, ['hello\r\n.', '452 4.3.1'], ['NOOP', 250]])
    const client = openClient(port)
    client.send('EHLO a.test\r\nMAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\n')
    for (const code of [220, 250, 250, 250, 354]) await expectReply(client, 'opening', code)
    client.socket.end(`${'x'.repeat(200_000)}\r\n.\r\nNOOP\r\n`)
    assert.match(await client.rest(), /^452 4\.3\.1 [^\r]*\r\n250 /)
    assert.equal(seen.mails.length, 0)
  })

  test('are counted while they come and given back when the client goes', async () => {
    const { port, seen } = await door()
    const client = openClient(port)
    client.send('EHLO a.test\r\nMAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\n')
    client.send('x'.repeat(100_000))
    await eventually(() => seen.reserved >= 100_000)
    client.socket.destroy()
    await eventually(() => seen.reserved === 0)
  })
})

test('one connection too many is told so and let go', async () => {
  const { port } = await door({ acquireConnection: () => undefined })
  assert.match(await openClient(port).rest(), /^421 4\.7\.0 [^\r]*\r\n$/)
})

test('those who took the port for something else cost one line of the log each', async () => {
  const { port, seen } = await door()
  for (const hello of ['GET / HTTP/1.1\r\n\r\n', 'SSH-2.0-x\r\n', '\x16\x03\x01\x02\x00\x01']) {
    const client = openClient(port)
    await client.reply()
    client.send(Buffer.from(hello, 'latin1'))
    assert.match(await client.rest(), /^500 5\.5\.2 [^\r]*\r\n$/)
  }
  assert.deepEqual(
    seen.lines.map(({ facts }) => facts['reason']),
    ['not_smtp', 'not_smtp', 'not_smtp'],
  )
})

test('a client that never reads its answers is not read either', async () => {
  const { port, seen } = await door({}, { limits: { maxCommands: 10_000_000 } })
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  socket.on('error', () => {})
  const noops = Buffer.from('NOOP\r\n'.repeat(10_000))
  // The kernel's buffers on both sides hold some megabytes; past them only we could be growing.
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
  await eventually(() => {
    still = sent === before ? still + 1 : 0
    before = sent
    return still > 100 || sent >= 200_000_000
  })
  assert.ok(sent < 200_000_000)
  socket.destroy()
  await eventually(() => seen.held === 0)
})

test('DATA without an end is cut with 552, not read for ever', async () => {
  const { port, seen } = await door({}, { maxBytes: 100_000 })
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
  assert.match(await client.rest(), /^552 5\.3\.4 [^\r]*\r\n$/)
  assert.ok(client.socket.bytesWritten < most / 2)
  await eventually(() => seen.held === 0 && seen.reserved === 0)
  assert.equal(seen.mails.length, 0)
})

test('clients over IPv6 are taken, and kept with their address', async () => {
  const { port, seen } = await door()
  const client = openClient(port, '::1')
  await expectReply(client, 'the greeting', 220)
  client.socket.destroy()
  assert.deepEqual(seen.heldIps, ['::1'])
})

test('a second server on the port is refused unless both agree to share it', async () => {
  const { port } = await door()
  await assert.rejects(door({}, { port }), { code: 'EADDRINUSE' })
  const first = await door({}, { reusePort: true })
  const second = await door({}, { reusePort: true, port: first.port })
  await Promise.all(Array.from({ length: 50 }, () => dialogue(first.port, TO_ANN)))
  await eventually(() => first.seen.held + second.seen.held === 0)
  assert.ok(first.seen.asked.length > 0 && second.seen.asked.length > 0)
})
