import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { parseResponse, problemFault } from '../../../test/kit/http/http-client.ts'
import { waitUntil } from '../../../test/kit/wait-until.ts'
import {
  makeCounters,
  makeSharedBudget,
  openCounters,
  openSharedBudget,
} from '../../limit/shared-counters.ts'
import { limitConnections } from './connection-limit.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close()
})

interface Limits {
  maxTotal?: number
  perAddress?: number
  isExempt?(ip: string): boolean
  held?: SharedArrayBuffer
  all?: SharedArrayBuffer
}

/** A server that responds to every request; loopback is not exempt. */
async function open(limits: Limits) {
  const { maxTotal = 1_000, held = makeCounters(), all = makeSharedBudget() } = limits
  const { perAddress, isExempt = () => false } = limits
  const budget = openSharedBudget(all, maxTotal)
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    if (request.url === '/hold') return
    response.end('hello')
  })
  limitConnections(server, {
    slots: {
      max: maxTotal,
      acquire: () => budget.reserve(1),
      release: () => budget.release(1),
      acquireFor: openCounters(held).hold,
    },
    isExempt,
    requestId: () => 'id',
    ...(perAddress === undefined ? {} : { perAddress }),
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

interface Client {
  socket: Socket
  received(): string
  isClosed(): boolean
}

/** Connects from this address and sends this text. */
async function client(port: number, { from = '127.0.0.1', send = '' } = {}): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  let received = ''
  let isClosed = false
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
  })
  await once(socket, 'connect')
  closers.push(() => socket.destroy())
  if (send !== '') socket.write(send)
  return { socket, received: () => received, isClosed: () => isClosed }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const isServed = async (one: Client) => {
  await waitUntil(() => one.received().includes('\r\n\r\n') || one.isClosed())
  return one.received().startsWith('HTTP/1.1 200')
}
const openMany = (count: number, make: () => Promise<Client>) =>
  Promise.all(Array.from({ length: count }, make))

test('an address has a limited number of connections, others are served, and closing one frees its slot', async () => {
  const port = await open({ perAddress: 3 })
  const [first] = await openMany(3, () => client(port, { send: get('/hold') }))
  const refused = await client(port, { send: get('/') })
  await waitUntil(refused.isClosed)
  const response = parseResponse(refused.received())
  expect([response.status, response.body['code']]).toStrictEqual([503, 'overloaded'])
  expect(problemFault({ ...response, body: { ...response.body } })).toBeUndefined()
  expect(response.headers.get('connection')).toBe('close')
  expect(await isServed(await client(port, { from: '127.0.0.2', send: get('/') }))).toBeTruthy()

  first?.socket.destroy()
  await waitUntil(async () => isServed(await client(port, { send: get('/') })))
})

test('an exempt address is subject to the total limit only', async () => {
  const port = await open({ perAddress: 1, maxTotal: 20, isExempt: (ip) => ip === '127.0.0.1' })
  const held = await openMany(20, () => client(port, { send: get('/hold') }))
  const refused = await client(port, { send: get('/') })
  await waitUntil(refused.isClosed)
  expect(parseResponse(refused.received()).status).toBe(503)
  expect(held.every((one) => !one.isClosed())).toBeTruthy()
})

test('with a small total limit, one address has a quarter of it', async () => {
  const port = await open({ maxTotal: 8 })
  await openMany(2, () => client(port, { send: get('/hold') }))
  const refused = await client(port, { send: get('/') })
  await waitUntil(refused.isClosed)
  expect(refused.received()).toMatch(/^HTTP\/1\.1 503 /)
  expect(await isServed(await client(port, { from: '127.0.0.2', send: get('/') }))).toBeTruthy()
})

test('at the total limit, each new connection replaces an idle one', async () => {
  const port = await open({ maxTotal: 4, isExempt: () => true })
  const busy = await client(port, { send: get('/hold') })
  const idle = await openMany(3, () => client(port, { send: get('/') }))
  for (const one of idle) expect(await isServed(one)).toBeTruthy()
  for (let count = 0; count < 6; count += 1) {
    expect(await isServed(await client(port, { send: get('/') }))).toBeTruthy()
  }
  await waitUntil(() => idle.every((one) => one.isClosed()))
  expect(busy.isClosed()).toBe(false)
})

test('an idle connection is found behind many busy ones', async () => {
  const port = await open({ maxTotal: 101, isExempt: () => true })
  const busy = await openMany(100, () => client(port, { send: get('/hold') }))
  expect(await isServed(await client(port, { send: get('/') }))).toBeTruthy()
  await waitUntil(async () => isServed(await client(port, { send: get('/') })))
  expect(busy.every((one) => !one.isClosed())).toBeTruthy()
})

test('the threads of a node share the limits', async () => {
  const shared = { held: makeCounters(), all: makeSharedBudget() }
  const ports = [
    await open({ ...shared, perAddress: 2, maxTotal: 100 }),
    await open({ ...shared, perAddress: 2, maxTotal: 100 }),
  ]
  for (const port of ports)
    expect(await isServed(await client(port, { send: get('/') }))).toBeTruthy()
  for (const port of ports) {
    const refused = await client(port, { send: get('/') })
    await waitUntil(refused.isClosed)
    expect(refused.received()).toMatch(/^HTTP\/1\.1 503 /)
  }
})

test('only part of a flood gets a response, and all its slots are released', async () => {
  const port = await open({ maxTotal: 4 })
  const flood = await openMany(200, () => client(port))
  await waitUntil(() => flood.filter((one) => one.isClosed()).length >= 199)
  const responded = flood.filter((one) => one.received() !== '').length
  expect(responded).toBeGreaterThan(0)
  expect(responded).toBeLessThan(200)
  for (const one of flood) one.socket.destroy()
  await waitUntil(async () => isServed(await client(port, { send: get('/') })))
})
