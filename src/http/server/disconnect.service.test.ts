import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WITHOUT_POLLING } from '../../../test/kit/app/app.ts'
import { checkMail } from '../../../test/kit/http/api-client.ts'
import { request } from '../../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { keyRing, type TestKey } from '../../../test/kit/shop/keys.ts'
import { waitUntil } from '../../../test/kit/wait-until.ts'
import { EMPTY_MAIL } from '../../shared/mail.ts'
import { disconnectSignal, onClose, throwIfClosed, waitSignals } from './disconnect.ts'
import { waitingRequests } from './limits.ts'

// A client may disconnect while any store call of its request is pending. The store is the real one; here each call can be
// held until the client has disconnected.

const LOOKUPS = [
  'findSession',
  'listMessages',
  'listMessageIds',
  'keyMailVersion',
  'listKeyMail',
  'listKeyMailHeads',
  'readKeyMail',
  'findKey',
]
const MAX_CALLS = 30
const SETTLE_MS = 20

let testServer: TestServer
let key: TestKey
let calls: string[] = []
let holdAt = Number.POSITIVE_INFINITY
let held = Promise.withResolvers<void>()
let release = Promise.withResolvers<void>()
let responses: ServerResponse[] = []

function withHolds<Store extends object>(store: Store): Store {
  const wrapped = Object.entries(store).map(([name, call]) => {
    if (!LOOKUPS.includes(name)) return [name, call]
    const waiting = async (...args: unknown[]) => {
      calls.push(name)
      if (calls.length === holdAt) {
        held.resolve()
        await release.promise
      }
      return await call(...args)
    }
    return [name, waiting]
  })
  return Object.fromEntries(wrapped) as Store
}

const recordResponse = (message: unknown) => {
  responses.push((message as { response: ServerResponse }).response)
}

beforeAll(async () => {
  const parse = async () => EMPTY_MAIL
  testServer = await openTestServer({ wrapStore: withHolds, intervals: WITHOUT_POLLING, parse })
  key = await keyRing(testServer.shop, testServer.now).issue()
  subscribe('http.server.request.start', recordResponse)
})
afterAll(async () => {
  unsubscribe('http.server.request.start', recordResponse)
  await testServer.stop()
})

interface TestMailbox {
  email: string
  token: string
  /** Token of another one. */
  other: string
  lastId: number
}

async function createMailbox() {
  const created = await request(`${testServer.url}/api/create-session`, {
    method: 'POST',
    headers: key.headers,
  })
  return created.body as { email: string; token: string }
}

/** A mailbox of the key with one message. */
async function mailboxWithMessage(): Promise<TestMailbox> {
  const [{ email, token }, { token: other }] = [await createMailbox(), await createMailbox()]
  await testServer.mail(email)
  const [message] = await checkMail(testServer.url, token)
  return { email, token, other, lastId: message?.id ?? 0 }
}

interface Case {
  path(mailbox: TestMailbox): string
  headers?: () => Record<string, string>
  /** Matches what the client has received once the request is complete. */
  complete: RegExp
}

const cases: Record<string, Case> = {
  'a live stream': {
    path: ({ token }) => `/api/events?token=${token}&since_id=0`,
    complete: /event: message[\s\S]*event: message/,
  },
  'a live stream of two mailboxes': {
    path: ({ token, other }) => `/api/events?tokens=${other},${token}&since_id=0`,
    complete: /event: message[\s\S]*event: message/,
  },
  'check-mail with wait': {
    path: ({ token, lastId }) => `/api/check-mail?token=${token}&wait=55&since_id=${lastId}`,
    complete: /"messages":\[\{/,
  },
  'check-mail with a filter and wait': {
    path: ({ token, lastId }) =>
      `/api/check-mail?token=${token}&wait=55&since_id=${lastId}&subject=h`,
    complete: /"messages":\[\{/,
  },
  '/emails with a filter and wait': {
    path: ({ email, lastId }) => `/emails?to=${email}&wait=55&since_id=${lastId}&subject=h`,
    headers: () => key.headers,
    complete: /"emails":\[\{/,
  },
  '/emails with wait': {
    path: ({ email, lastId }) => `/emails?to=${email}&wait=55&since_id=${lastId}`,
    headers: () => key.headers,
    complete: /"emails":\[\{/,
  },
}

/** Disconnects during this lookup. Returns false if the request makes fewer. */
async function disconnectAt(number: number, { path, headers, complete }: Case): Promise<boolean> {
  const mailbox = await mailboxWithMessage()
  calls = []
  responses = []
  held = Promise.withResolvers()
  release = Promise.withResolvers()
  holdAt = number
  let isHeld = false
  void held.promise.then(() => {
    isHeld = true
  })
  const client = await openClient(path(mailbox), headers?.() ?? {})
  await waitUntil(async () => isHeld || waitingRequests() > 0)
  if (!isHeld) await testServer.mail(mailbox.email)
  await waitUntil(() => isHeld || complete.test(client.received()))

  client.socket.resetAndDestroy()
  await waitUntil(() => responses[0]?.closed)
  await new Promise(setImmediate)
  const context = `${isHeld ? `held in ${calls.at(-1)}` : 'complete'}, call ${number}`
  expect(waitingRequests(), `slot kept: ${context}`).toBe(0)
  expect(testServer.subscriptions(), `subscription kept: ${context}`).toBe(0)

  holdAt = Number.POSITIVE_INFINITY
  const before = calls.length
  release.resolve()
  // New mail: a leftover waiter would query the store.
  await testServer.mail(mailbox.email)
  await pause(SETTLE_MS)
  expect(calls.slice(before), `looked up after the disconnect: ${context}`).toStrictEqual([])
  expect(waitingRequests(), `slot taken after the disconnect: ${context}`).toBe(0)
  expect(testServer.subscriptions(), `subscribed after the disconnect: ${context}`).toBe(0)
  return isHeld
}

async function openClient(
  path: string,
  headers: Record<string, string>,
): Promise<{ socket: Socket; received(): string }> {
  const socket = connect(testServer.port, '127.0.0.1')
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('error', () => {})
  await once(socket, 'connect')
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${fields.join('')}\r\n`)
  return { socket, received: () => received }
}

for (const [name, testCase] of Object.entries(cases)) {
  test(`${name}: a disconnect during any store call releases the slot, and no further call follows`, async () => {
    let number = 0
    while (await disconnectAt(number + 1, testCase)) {
      number += 1
      expect(number, 'never completes').toBeLessThan(MAX_CALLS)
    }
    expect(number, `only ${number} store calls`).toBeGreaterThanOrEqual(4)
  })
}

describe('the scope of a response', () => {
  const server = createServer()
  let response: ServerResponse
  let disconnect: () => Promise<unknown>

  beforeEach(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    client.on('error', () => {})
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    const [, created] = await once(server, 'request')
    response = created
    disconnect = async () => {
      const closed = once(response, 'close')
      client.resetAndDestroy()
      await closed
    }
  })
  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  test('a wait signal is aborted by a disconnect, and dropped', async () => {
    const signals = waitSignals()
    const signal = signals.waitSignalOf(response)
    expect([signal.aborted, signals.count()]).toStrictEqual([false, 1])
    await disconnect()
    expect([signal.aborted, signals.count()]).toStrictEqual([true, 0])
  })

  test('a wait signal requested after the disconnect is aborted, and not stored', async () => {
    const signals = waitSignals()
    await disconnect()
    expect(signals.waitSignalOf(response).aborted).toBe(true)
    expect(signals.count()).toBe(0)
  })

  test('a wait signal requested after stop has its reason', () => {
    const signals = waitSignals()
    signals.stop(new Error('stopping'))
    expect(String(signals.waitSignalOf(response).reason)).toMatch(/stopping/)
  })

  test('a disconnect signal is aborted by a disconnect, even if requested later', async () => {
    const signal = disconnectSignal(response)
    expect(signal.aborted).toBe(false)
    await disconnect()
    expect(signal.aborted).toBe(true)
    expect(disconnectSignal(response).aborted).toBe(true)
  })

  test('onClose runs once, whether registered before or after the disconnect', async () => {
    const released: string[] = []
    throwIfClosed(response)
    onClose(response, () => released.push('early'))
    await disconnect()
    onClose(response, () => released.push('late'))
    expect(released).toStrictEqual(['early', 'late'])
    expect(() => throwIfClosed(response)).toThrow(/disconnected/)
  })

  test('onClose runs when the response is complete', async () => {
    const released = new Promise<void>((resolve) => onClose(response, resolve))
    response.end('done')
    await released
  })
})

test('a reset while a body that was refused still arrives is not logged', async () => {
  const { hostname, port } = new URL(testServer.url)
  for (const path of ['/api/create-session', '/unknown']) {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\nstart`)
    const [response] = await once(socket, 'data')
    expect(String(response)).toMatch(/^HTTP\/1\.1 4(04|13) /)
    socket.resetAndDestroy()
    await waitUntil(() => responses.at(-1)?.destroyed)
    await pause(SETTLE_MS)
  }
  expect(testServer.logged).toStrictEqual([])
})
