import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeEach, test } from 'vitest'
import { onClose, responseSignals, throwIfClosed } from './response-scope.ts'

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
  const signals = responseSignals()
  const signal = signals.signalOf(response)
  assert.deepEqual([signal.aborted, signals.count()], [false, 1])
  await disconnect()
  assert.deepEqual([signal.aborted, signals.count()], [true, 0])
})

test('one that is asked for after the disconnect is aborted, and never kept', async () => {
  const signals = responseSignals()
  await disconnect()
  assert.equal(signals.signalOf(response).aborted, true)
  assert.equal(signals.count(), 0)
})

test('one that is asked for after the stop has its reason', () => {
  const signals = responseSignals()
  signals.stop(new Error('stopping'))
  assert.match(String(signals.signalOf(response).reason), /stopping/)
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
