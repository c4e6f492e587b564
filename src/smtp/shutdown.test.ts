import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { SmtpDeps, SmtpOptions } from './options.ts'
import { openSmtpServer } from './server.ts'
import { type Client, expectReply, openClient } from './testing/dialogue.ts'
import { eventually } from './testing/eventually.ts'
import { recordingDeps } from './testing/recording-deps.ts'

const OPENING = 'EHLO a.test\r\nMAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\n'

async function openServer(overrides: Partial<SmtpDeps> = {}, options: Partial<SmtpOptions> = {}) {
  const { deps, seen } = recordingDeps(overrides)
  const server = await openSmtpServer(deps, { port: 0, hostname: 'mx.box.test', ...options })
  return { server, seen }
}

async function inData(port: number): Promise<Client> {
  const client = openClient(port)
  client.send(OPENING)
  for (const code of [220, 250, 250, 250, 354]) await expectReply(client, 'the opening', code)
  return client
}

describe('a server that is asked to stop', () => {
  test('says 421 to those who say nothing, and is gone', async () => {
    const { server, seen } = await openServer()
    const clients = [openClient(server.port), openClient(server.port)]
    for (const client of clients) await expectReply(client, 'the greeting', 220)
    clients[1]?.send('EHLO a.test\r\nMAIL FROM:<>\r\n')
    await clients[1]?.reply()
    await clients[1]?.reply()
    const closed = server.close()
    for (const client of clients) assert.match(await client.rest(), /^421 4\.3\.2 [^\r]*\r\n$/)
    await closed
    assert.equal(seen.held, 0)
    await assert.rejects(openClient(server.port).reply())
  })

  test('lets a mail in flight finish, answers it, and then says 421', async () => {
    const { server, seen } = await openServer()
    const client = await inData(server.port)
    client.send('first half\r\n')
    const closed = server.close()
    await assert.rejects(openClient(server.port).reply())
    client.send('second half\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\nx\r\n.\r\n')
    const rest = await client.rest()
    assert.match(rest, /^250 2\.0\.0 kept\r\n421 4\.3\.2 [^\r]*\r\n$/)
    await closed
    assert.equal(seen.mails.length, 1)
  })

  test('waits for the disk before it answers and goes', async () => {
    const disk = Promise.withResolvers<'kept'>()
    const { server } = await openServer({ receiveMail: () => disk.promise })
    const client = await inData(server.port)
    client.send('x\r\n.\r\n')
    const closed = server.close()
    disk.resolve('kept')
    assert.match(await client.rest(), /^250 2\.0\.0 kept\r\n421 4\.3\.2 /)
    await closed
  })

  test('does not wait for ever for a mail that does not come to its end', async () => {
    const { server, seen } = await openServer({}, { timeouts: { closeMs: 30 } })
    const client = await inData(server.port)
    client.send('never finished')
    await eventually(() => seen.reserved > 0)
    await server.close()
    assert.equal(await client.rest(), '')
    assert.equal(seen.held, 0)
    assert.equal(seen.reserved, 0)
    assert.equal(seen.mails.length, 0)
  })

  test('may be asked twice', async () => {
    const { server } = await openServer()
    await Promise.all([server.close(), server.close()])
    await server.close()
  })

  test('does not wait for ever for a client that will not hang up', async () => {
    const { server, seen } = await openServer({}, { timeouts: { closeMs: 30 } })
    const client = openClient(server.port)
    await expectReply(client, 'the greeting', 220)
    client.socket.allowHalfOpen = true
    await server.close()
    assert.equal(seen.held, 0)
    client.socket.destroy()
  })
})

describe('a server that drains', () => {
  test('says 421 to newcomers and to those between mails, and listens on', async () => {
    const { server, seen } = await openServer()
    const idle = openClient(server.port)
    await expectReply(idle, 'the greeting', 220)
    server.drain()
    assert.match(await idle.rest(), /^421 4\.3\.2 [^\r]*\r\n$/)
    for (const newcomer of [openClient(server.port), openClient(server.port)]) {
      assert.match(await newcomer.rest(), /^421 4\.3\.2 [^\r]*\r\n$/)
    }
    assert.equal(seen.heldIps.length, 1, 'newcomers are not even counted')
    await server.close()
    await assert.rejects(openClient(server.port).reply())
  })

  test('takes all the time that a mail in flight needs', async () => {
    const { server, seen } = await openServer({}, { timeouts: { closeMs: 0 } })
    const client = await inData(server.port)
    client.send('first half\r\n')
    await eventually(() => seen.reserved > 0)
    server.drain()
    assert.match(await openClient(server.port).rest(), /^421 /)
    client.send('second half\r\n.\r\n')
    assert.match(await client.rest(), /^250 2\.0\.0 kept\r\n421 4\.3\.2 [^\r]*\r\n$/)
    assert.equal(seen.mails.length, 1)
    await server.close()
  })

  test('says so also to clients of a balancer, once it knows who they are', async () => {
    const { server } = await openServer({}, { proxyFrom: ['127.0.0.1'] })
    const [early, late] = [openClient(server.port), openClient(server.port)]
    early.send('PROXY TCP4 192.0.2.1 ')
    server.drain()
    early.send('192.0.2.2 1 2\r\n')
    late.send('PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n')
    for (const client of [early, late]) assert.match(await client.rest(), /^421 4\.3\.2 /)
    await server.close()
  })
})
