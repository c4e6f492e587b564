import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { parseResponse, problemFault } from '../../../test/support/http-client.ts'
import { waitUntil } from '../../../test/support/wait-until.ts'
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
  most?: number
  perAddress?: number
  isExempt?(ip: string): boolean
  held?: SharedArrayBuffer
  all?: SharedArrayBuffer
}

/** A server that answers each request; here loopback is an address like any other. */
async function open(limits: Limits) {
  const { most = 1_000, held = makeCounters(), all = makeSharedBudget() } = limits
  const { perAddress, isExempt = () => false } = limits
  const budget = openSharedBudget(all, most)
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    if (request.url === '/hold') return
    response.end('hello')
  })
  limitConnections(server, {
    slots: {
      max: most,
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
  heard(): string
  isClosed(): boolean
}

/** A connection that has sent this much, and has been accepted or refused. */
async function client(port: number, { from = '127.0.0.1', send = '' } = {}): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  let heard = ''
  let isClosed = false
  socket.on('data', (chunk) => {
    heard += chunk
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
  })
  await once(socket, 'connect')
  closers.push(() => socket.destroy())
  if (send !== '') socket.write(send)
  return { socket, heard: () => heard, isClosed: () => isClosed }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const isAnswered = async (one: Client) => {
  await waitUntil(() => one.heard().includes('\r\n\r\n') || one.isClosed())
  return one.heard().startsWith('HTTP/1.1 200')
}
const many = (count: number, make: () => Promise<Client>) =>
  Promise.all(Array.from({ length: count }, make))

test('one address has so many and no more; others are served; a closed one makes room', async () => {
  const port = await open({ perAddress: 3 })
  const [first] = await many(3, () => client(port, { send: get('/hold') }))
  const refused = await client(port, { send: get('/') })
  await waitUntil(refused.isClosed)
  const answer = parseResponse(refused.heard())
  assert.deepEqual([answer.status, answer.body['code']], [503, 'overloaded'])
  assert.equal(problemFault({ ...answer, body: { ...answer.body } }), undefined)
  assert.equal(answer.headers.get('connection'), 'close')
  assert.ok(await isAnswered(await client(port, { from: '127.0.0.2', send: get('/') })))

  first?.socket.destroy()
  await waitUntil(async () => isAnswered(await client(port, { send: get('/') })))
})

test('who is exempt is limited only with all others', async () => {
  const port = await open({ perAddress: 1, most: 20, isExempt: (ip) => ip === '127.0.0.1' })
  const held = await many(20, () => client(port, { send: get('/hold') }))
  const refused = await client(port, { send: get('/') })
  await waitUntil(refused.isClosed)
  assert.equal(parseResponse(refused.heard()).status, 503)
  assert.ok(held.every((one) => !one.isClosed()))
})

test('where there is room for few, one address has a quarter of it', async () => {
  const port = await open({ most: 8 })
  await many(2, () => client(port, { send: get('/hold') }))
  const refused = await client(port, { send: get('/') })
  await waitUntil(refused.isClosed)
  assert.match(refused.heard(), /^HTTP\/1\.1 503 /)
  assert.ok(await isAnswered(await client(port, { from: '127.0.0.2', send: get('/') })))
})

test('at the limit of all, idle connections are closed for those who come', async () => {
  const port = await open({ most: 4, isExempt: () => true })
  const busy = await client(port, { send: get('/hold') })
  const idle = await many(3, () => client(port, { send: get('/') }))
  for (const one of idle) assert.ok(await isAnswered(one))
  assert.ok(await isAnswered(await client(port, { send: get('/') })))
  await waitUntil(() => idle.some((one) => one.isClosed()))
  assert.equal(busy.isClosed(), false)
})

test('the threads of a node count together', async () => {
  const shared = { held: makeCounters(), all: makeSharedBudget() }
  const ports = [
    await open({ ...shared, perAddress: 2, most: 100 }),
    await open({ ...shared, perAddress: 2, most: 100 }),
  ]
  for (const port of ports) assert.ok(await isAnswered(await client(port, { send: get('/') })))
  for (const port of ports) {
    const refused = await client(port, { send: get('/') })
    await waitUntil(refused.isClosed)
    assert.match(refused.heard(), /^HTTP\/1\.1 503 /)
  }
})

test('a flood is not answered beyond a few, and nothing of it is left', async () => {
  const port = await open({ most: 4 })
  const flood = await many(200, () => client(port))
  await waitUntil(() => flood.filter((one) => one.isClosed()).length >= 199)
  const answered = flood.filter((one) => one.heard() !== '').length
  expect(answered).toBeGreaterThan(0)
  expect(answered).toBeLessThan(200)
  for (const one of flood) one.socket.destroy()
  await waitUntil(async () => isAnswered(await client(port, { send: get('/') })))
})
