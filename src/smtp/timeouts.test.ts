import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '../../test/kit/wait-until.ts'
import type { ReceiveResult } from './options.ts'
import { openSmtpServer, type SmtpServer } from './server.ts'
import { type Client, expectReply, openClient } from './testing/dialogue.ts'
import { recordingDeps } from './testing/recording-deps.ts'

const MINUTE = 60_000
const OPENING = 'EHLO a.test\r\nMAIL FROM:<>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\n'
const STORED: ReceiveResult = { outcome: 'stored', recipients: [] }
const disk = { busy: undefined as Promise<ReceiveResult> | undefined }
const { deps, seen } = recordingDeps({ receiveMail: async () => (await disk.busy) ?? STORED })
/** Server sockets by client port. */
const serverSockets = new Map<number | undefined, Socket>()
let server: SmtpServer
let now = 0
let checks = 0

beforeAll(async () => {
  subscribe('net.server.socket', (message) => {
    const { socket } = message as { socket: Socket }
    serverSockets.set(socket.remotePort, socket)
  })
  const clock = () => {
    checks += 1
    return now
  }
  const options = { port: 0, hostname: 'mx.box.test', timeouts: { checkMs: 2 }, clock }
  server = await openSmtpServer(deps, { ...options, proxyFrom: ['::1'] })
})
afterAll(() => server.close())

/** Advances the clock and waits for two timeout checks. */
async function advance(ms: number): Promise<void> {
  now += ms
  const before = checks
  await waitUntil(() => checks > before + 2)
}

async function opened(lines: string, codes: number[]): Promise<Client> {
  const client = openClient(server.port)
  client.send(lines)
  for (const code of [220, ...codes]) await expectReply(client, lines, code)
  return client
}

async function alive(client: Client): Promise<void> {
  client.send('NOOP\r\n')
  await expectReply(client, 'NOOP', 250)
}

test('an idle client is closed after five minutes, not before', async () => {
  const client = await opened('', [])
  await advance(5 * MINUTE - 1_000)
  await alive(client)
  await advance(5 * MINUTE - 1_000)
  client.send('NO') // an incomplete command is not activity
  await arrived(client)
  await advance(2_000)
  expect(await client.rest()).toMatch(/^421 4\.4\.2 [^\r]*\r\n$/)
})

test('an active session is closed after ten minutes', async () => {
  const client = await opened('', [])
  for (let minute = 1; minute <= 10; minute += 1) {
    await advance(MINUTE - 10)
    await alive(client)
  }
  await advance(200)
  expect(await client.rest()).toMatch(/^421 4\.4\.2 [^\r]*\r\n$/)
})

describe('DATA', () => {
  test('at 500 bytes a second is accepted, even with pauses', async () => {
    const client = await opened(OPENING, [250, 250, 250, 354])
    for (let window = 0; window < 5; window += 1) {
      client.send('x'.repeat(20_000))
      await arrived(client)
      await advance(21_000)
    }
    client.send('\r\n.\r\n')
    await expectReply(client, 'the end', 250)
    client.socket.destroy()
  })

  test('at a lower rate is aborted, and nothing is stored', async () => {
    const before = seen.mails.length
    const client = await opened(OPENING, [250, 250, 250, 354])
    client.send('x'.repeat(100_000))
    await arrived(client)
    expect(seen.reserved).toBeGreaterThanOrEqual(100_000)
    await advance(21_000)
    client.send('y')
    await arrived(client)
    await advance(21_000)
    expect(await client.rest()).toMatch(/^421 4\.4\.2 [^\r]*\r\n$/)
    await waitUntil(() => seen.reserved === 0)
    expect(seen.mails.length).toBe(before)
  })

  test('does not time out while a slow disk writes it', async () => {
    const slow = Promise.withResolvers<ReceiveResult>()
    disk.busy = slow.promise
    const client = await opened(OPENING, [250, 250, 250, 354])
    client.send('x\r\n.\r\n')
    await waitUntil(() => seen.reserved > 0)
    await advance(20 * MINUTE)
    disk.busy = undefined
    slow.resolve(STORED)
    await expectReply(client, 'the end', 250)
    client.socket.destroy()
  })
})

test('a client that does not close after QUIT is disconnected', async () => {
  const client = await opened('QUIT\r\n', [221])
  client.socket.allowHalfOpen = true
  await advance(3_001)
  await waitUntil(() => seen.held === 0)
  client.socket.destroy()
})

test('a load balancer that never sends its PROXY header is disconnected', async () => {
  const client = openClient(server.port, '::1')
  await waitUntil(() => serverSockets.has(client.socket.localPort))
  await advance(30_001)
  expect(await client.rest()).toBe('')
})

/** Waits until the server has read every byte that the client has sent. */
async function arrived({ socket }: Client): Promise<void> {
  await waitUntil(() => serverSockets.get(socket.localPort)?.bytesRead === socket.bytesWritten)
}
