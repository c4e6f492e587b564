import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseAddress } from '../base/address.ts'
import { openLocalSmtp } from './local-smtp.ts'

let greeting: string | undefined
const clients: unknown[] = []
const server = createServer((socket) => {
  clients.push(socket.remoteAddress)
  socket.on('error', () => {})
  if (greeting === undefined) socket.destroy()
  else socket.write(greeting)
})
beforeEach(async () => {
  greeting = '220 mx.test ready\r\n'
  await listen('127.0.0.1')
})
afterEach(() => server.close())

const listen = (host: string) => new Promise<void>((resolve) => server.listen(0, host, resolve))

function portOf(): number {
  const address = server.address()
  return address && typeof address === 'object' ? address.port : 0
}

function send(onGreeting: () => Promise<void>, { host = '127.0.0.1', port = portOf() } = {}) {
  const to = parseAddress('ann@box.test')
  if (!to) throw new Error('a good address')
  const mail = { from: 'postmaster@box.test', to, raw: '\r\n' }
  return openLocalSmtp({ host, port, proxyFrom: [] })(mail, onGreeting)
}

const OVERLOADED = expect.objectContaining({ code: 'overloaded' })

describe('test mail', () => {
  test('cannot be sent while the SMTP server closes connections', async () => {
    greeting = undefined
    await expect(send(async () => {})).rejects.toEqual(OVERLOADED)
  })

  for (const host of ['localhost', 'unknown.invalid']) {
    test(`cannot be sent while nothing listens on ${host}`, async () => {
      const port = portOf()
      server.close()
      await expect(send(async () => {}, { host, port })).rejects.toEqual(OVERLOADED)
    })
  }

  for (const [host, loopback] of [
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ...otherAddresses(),
  ] as const) {
    test(`comes from loopback if the server listens on ${host}`, async () => {
      server.close()
      await listen(host)
      greeting = '421 4.3.2 Service shutting down, try again later\r\n'
      clients.length = 0
      await send(async () => {}, { host })
      expect(clients).toEqual([loopback])
    })
  }

  test('is refused with the reply of a server that does not greet', async () => {
    greeting = '421 4.3.2 Service shutting down, try again later\r\n'
    expect(await send(async () => {})).toEqual({ code: 421, status: '4.3.2' })
  })

  test('fails with the error of a bug, not as if the server were unavailable', async () => {
    const bug = new TypeError('a bug')
    await expect(send(() => Promise.reject(bug))).rejects.toBe(bug)
  })
})

function otherAddresses() {
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? [])
  const other = all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
  return other.map(
    ({ address, family }) => [address, family === 'IPv6' ? '::1' : '127.0.0.1'] as const,
  )
}
