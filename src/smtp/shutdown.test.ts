import { describe, expect, test } from 'vitest'
import { waitUntil } from '../../test/kit/wait-until.ts'
import type { ReceiveResult, SmtpDeps, SmtpOptions } from './options.ts'
import { openSmtpServer } from './server.ts'
import { type Client, expectReply, openClient } from './testing/dialogue.ts'
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

describe('close', () => {
  test('sends 421 to idle clients and stops listening', async () => {
    const { server, seen } = await openServer()
    const clients = [openClient(server.port), openClient(server.port)]
    for (const client of clients) await expectReply(client, 'the greeting', 220)
    clients[1]?.send('EHLO a.test\r\nMAIL FROM:<>\r\n')
    await clients[1]?.reply()
    await clients[1]?.reply()
    const closed = server.close()
    for (const client of clients) expect(await client.rest()).toMatch(/^421 4\.3\.2 [^\r]*\r\n$/)
    await closed
    expect(seen.held).toBe(0)
    await expect(openClient(server.port).reply()).rejects.toThrow()
  })

  test('completes mail in progress before it sends 421', async () => {
    const { server, seen } = await openServer()
    const client = await inData(server.port)
    client.send('first half\r\n')
    const closed = server.close()
    await expect(openClient(server.port).reply()).rejects.toThrow()
    client.send('second half\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\nx\r\n.\r\n')
    const rest = await client.rest()
    expect(rest).toMatch(/^250 2\.0\.0 Message accepted\r\n421 4\.3\.2 [^\r]*\r\n$/)
    await closed
    expect(seen.mails.length).toBe(1)
  })

  test('waits for the disk before the 250', async () => {
    const disk = Promise.withResolvers<ReceiveResult>()
    const { server } = await openServer({ receiveMail: () => disk.promise })
    const client = await inData(server.port)
    client.send('x\r\n.\r\n')
    const closed = server.close()
    disk.resolve({ outcome: 'stored', recipients: [] })
    expect(await client.rest()).toMatch(/^250 2\.0\.0 Message accepted\r\n421 4\.3\.2 /)
    await closed
  })

  test('does not wait longer than closeMs for mail in progress', async () => {
    const { server, seen } = await openServer({}, { timeouts: { closeMs: 30 } })
    const client = await inData(server.port)
    client.send('never finished')
    await waitUntil(() => seen.reserved > 0)
    await server.close()
    expect(await client.rest()).toBe('')
    expect(seen.held).toBe(0)
    expect(seen.reserved).toBe(0)
    expect(seen.mails.length).toBe(0)
  })

  test('may be called twice', async () => {
    const { server } = await openServer()
    await Promise.all([server.close(), server.close()])
    await server.close()
  })

  test('does not wait longer than closeMs for a client that does not disconnect', async () => {
    const { server, seen } = await openServer({}, { timeouts: { closeMs: 30 } })
    const client = openClient(server.port)
    await expectReply(client, 'the greeting', 220)
    client.socket.allowHalfOpen = true
    await server.close()
    expect(seen.held).toBe(0)
    client.socket.destroy()
  })
})

describe('drain', () => {
  test('sends 421 to new and idle clients and keeps listening', async () => {
    const { server, seen } = await openServer()
    const idle = openClient(server.port)
    await expectReply(idle, 'the greeting', 220)
    server.drain()
    expect(await idle.rest()).toMatch(/^421 4\.3\.2 [^\r]*\r\n$/)
    for (const newcomer of [openClient(server.port), openClient(server.port)]) {
      expect(await newcomer.rest()).toMatch(/^421 4\.3\.2 [^\r]*\r\n$/)
    }
    expect(seen.heldIps.length, 'new clients are not counted').toBe(1)
    await server.close()
    await expect(openClient(server.port).reply()).rejects.toThrow()
  })

  test('waits for mail in progress without a limit', async () => {
    const { server, seen } = await openServer({}, { timeouts: { closeMs: 0 } })
    const client = await inData(server.port)
    client.send('first half\r\n')
    await waitUntil(() => seen.reserved > 0)
    server.drain()
    expect(await openClient(server.port).rest()).toMatch(/^421 /)
    client.send('second half\r\n.\r\n')
    expect(await client.rest()).toMatch(/^250 2\.0\.0 Message accepted\r\n421 4\.3\.2 [^\r]*\r\n$/)
    expect(seen.mails.length).toBe(1)
    await server.close()
  })

  test('sends 421 to clients of a load balancer after their PROXY header', async () => {
    const { server } = await openServer({}, { proxyFrom: ['127.0.0.1'] })
    const [early, late] = [openClient(server.port), openClient(server.port)]
    early.send('PROXY TCP4 192.0.2.1 ')
    server.drain()
    early.send('192.0.2.2 1 2\r\n')
    late.send('PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n')
    for (const client of [early, late]) expect(await client.rest()).toMatch(/^421 4\.3\.2 /)
    await server.close()
  })
})
