import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeEach, test } from 'vitest'
import { disconnectSignal, onClose, throwIfClosed, waitSignals } from './response-scope.ts'

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

test('a signal is aborted when its client disconnects, and is kept no longer', async () => {
  const signals = waitSignals()
  const signal = signals.waitSignalOf(response)
  assert.deepEqual([signal.aborted, signals.count()], [false, 1])
  await disconnect()
  assert.deepEqual([signal.aborted, signals.count()], [true, 0])
})

test('one that is asked for after the disconnect is aborted, and never kept', async () => {
  const signals = waitSignals()
  await disconnect()
  assert.equal(signals.waitSignalOf(response).aborted, true)
  assert.equal(signals.count(), 0)
})

test('one that is asked for after the stop has its reason', () => {
  const signals = waitSignals()
  signals.stop(new Error('stopping'))
  assert.match(String(signals.waitSignalOf(response).reason), /stopping/)
})

test('a short request is aborted by its disconnect alone, before or after it is asked for', async () => {
  const signal = disconnectSignal(response)
  assert.equal(signal.aborted, false)
  await disconnect()
  assert.equal(signal.aborted, true)
  assert.equal(disconnectSignal(response).aborted, true)
})

test('what is held is released once, before or after the disconnect', async () => {
  const released: string[] = []
  throwIfClosed(response)
  onClose(response, () => released.push('early'))
  await disconnect()
  onClose(response, () => released.push('late'))
  assert.deepEqual(released, ['early', 'late'])
  assert.throws(() => throwIfClosed(response), /hung up/)
})

test('a complete response releases too', async () => {
  const released = new Promise<void>((resolve) => onClose(response, resolve))
  response.end('done')
  await released
})
