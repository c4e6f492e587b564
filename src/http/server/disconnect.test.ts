import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { register } from 'prom-client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest'
import { checkMail } from '../../../test/support/api-client.ts'
import { WITHOUT_POLLING } from '../../../test/support/app.ts'
import { request } from '../../../test/support/http-client.ts'
import { openTestServer, type TestServer } from '../../../test/support/http-server.ts'
import { keyRing, type TestKey } from '../../../test/support/keys.ts'
import { waitUntil } from '../../../test/support/wait-until.ts'
import { EMPTY_MAIL } from '../../core/message.ts'
import { disconnectSignal, onClose, throwIfClosed, waitSignals } from './disconnect.ts'

// A client may disconnect while any store call of its request is pending. The store is the real one; here each call can be
// held until the client has gone.

const LOOKUPS = [
  'findSession',
  'listMessages',
  'listMessageIds',
  'keyMailVersion',
  'listKeyMail',
  'findKey',
]
const MOST_CALLS = 20
const MOMENT_MS = 20

let door: TestServer
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

const noteResponse = (message: unknown) => {
  responses.push((message as { response: ServerResponse }).response)
}

beforeAll(async () => {
  const parse = async () => EMPTY_MAIL
  door = await openTestServer({ wrapStore: withHolds, intervals: WITHOUT_POLLING, parse })
  key = await keyRing(door.shop, door.now).issue()
  subscribe('http.server.request.start', noteResponse)
})
afterAll(async () => {
  unsubscribe('http.server.request.start', noteResponse)
  await door.stop()
})

async function waitingCount(): Promise<number> {
  const metric = await register.getSingleMetric('mayfly_http_waiting')?.get()
  return metric?.values[0]?.value ?? 0
}

interface Box {
  email: string
  token: string
  lastId: number
}

/** A mailbox of the key with one message. */
async function filledBox(): Promise<Box> {
  const made = await request(`${door.url}/api/create-session`, {
    method: 'POST',
    headers: key.headers,
  })
  const { email, token } = made.body as { email: string; token: string }
  await door.mail(email)
  const [message] = await checkMail(door.url, token)
  return { email, token, lastId: message?.id ?? 0 }
}

interface Case {
  path(box: Box): string
  headers?: () => Record<string, string>
  /** Matches what the client has heard when the request did all that it does. */
  complete: RegExp
}

const cases: Record<string, Case> = {
  'a live stream': {
    path: ({ token }) => `/api/events?token=${token}&since_id=0`,
    complete: /event: message[\s\S]*event: message/,
  },
  'check-mail with wait': {
    path: ({ token, lastId }) => `/api/check-mail?token=${token}&wait=55&since_id=${lastId}`,
    complete: /"messages":\[\{/,
  },
  '/emails with wait': {
    path: ({ email, lastId }) => `/emails?to=${email}&wait=55&since_id=${lastId}`,
    headers: () => key.headers,
    complete: /"emails":\[\{/,
  },
}

/** Disconnects during this look-up. False when the request has fewer of them. */
async function disconnectAt(number: number, { path, headers, complete }: Case): Promise<boolean> {
  const box = await filledBox()
  calls = []
  responses = []
  held = Promise.withResolvers()
  release = Promise.withResolvers()
  holdAt = number
  let isHeld = false
  void held.promise.then(() => {
    isHeld = true
  })
  const client = await openClient(path(box), headers?.() ?? {})
  await waitUntil(async () => isHeld || (await waitingCount()) > 0)
  if (!isHeld) await door.mail(box.email)
  await waitUntil(() => isHeld || complete.test(client.heard()))

  client.socket.resetAndDestroy()
  await waitUntil(() => responses[0]?.closed)
  await new Promise(setImmediate)
  const where = `${isHeld ? `held in ${calls.at(-1)}` : 'complete'}, call ${number}`
  assert.equal(await waitingCount(), 0, `slot kept: ${where}`)
  assert.equal(door.subscriptions(), 0, `subscription kept: ${where}`)

  holdAt = Number.POSITIVE_INFINITY
  const before = calls.length
  release.resolve()
  // News: whoever still waits would look.
  await door.mail(box.email)
  await pause(MOMENT_MS)
  assert.deepEqual(calls.slice(before), [], `looked up after the disconnect: ${where}`)
  assert.equal(await waitingCount(), 0, `slot taken after the disconnect: ${where}`)
  assert.equal(door.subscriptions(), 0, `subscribed after the disconnect: ${where}`)
  return isHeld
}

async function openClient(
  path: string,
  headers: Record<string, string>,
): Promise<{ socket: Socket; heard(): string }> {
  const socket = connect(door.port, '127.0.0.1')
  let heard = ''
  socket.on('data', (chunk) => {
    heard += chunk
  })
  socket.on('error', () => {})
  await once(socket, 'connect')
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${fields.join('')}\r\n`)
  return { socket, heard: () => heard }
}

for (const [name, one] of Object.entries(cases)) {
  test(`${name}: a disconnect during any store call releases the slot, and no further call follows`, async () => {
    let number = 0
    while (await disconnectAt(number + 1, one)) {
      number += 1
      assert.ok(number < MOST_CALLS, 'never completes')
    }
    assert.ok(number >= 4, `only ${number} store calls`)
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
    const [, made] = await once(server, 'request')
    response = made
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
    assert.deepEqual([signal.aborted, signals.count()], [false, 1])
    await disconnect()
    assert.deepEqual([signal.aborted, signals.count()], [true, 0])
  })

  test('a wait signal requested after the disconnect is aborted, and not stored', async () => {
    const signals = waitSignals()
    await disconnect()
    assert.equal(signals.waitSignalOf(response).aborted, true)
    assert.equal(signals.count(), 0)
  })

  test('a wait signal requested after the stop has its reason', () => {
    const signals = waitSignals()
    signals.stop(new Error('stopping'))
    assert.match(String(signals.waitSignalOf(response).reason), /stopping/)
  })

  test('a disconnect signal is aborted by a disconnect, also if requested later', async () => {
    const signal = disconnectSignal(response)
    assert.equal(signal.aborted, false)
    await disconnect()
    assert.equal(signal.aborted, true)
    assert.equal(disconnectSignal(response).aborted, true)
  })

  test('onClose runs once, whether registered before or after the disconnect', async () => {
    const released: string[] = []
    throwIfClosed(response)
    onClose(response, () => released.push('early'))
    await disconnect()
    onClose(response, () => released.push('late'))
    assert.deepEqual(released, ['early', 'late'])
    assert.throws(() => throwIfClosed(response), /disconnected/)
  })

  test('onClose runs when the response is complete', async () => {
    const released = new Promise<void>((resolve) => onClose(response, resolve))
    response.end('done')
    await released
  })
})
