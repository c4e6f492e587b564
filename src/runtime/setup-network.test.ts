import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../config/config.ts'
import { smtpPortState, temporaryAddresses } from './setup-machine.ts'

test('IPv6 addresses that change by themselves are not published', () => {
  const isTemporary = temporaryAddresses(`00000000000000000000000000000001 01 80 10 80       lo
20010db8000000000000000000000007 02 40 00 00     eth0
20010db80000000089ab00000000cdef 02 40 00 01     eth0
20010db8000000000000000000000008 02 40 00 20     eth0
`)
  const all = ['::1', '203.0.113.7', '2001:db8::7', '2001:db8::89ab:0:0:cdef', '2001:db8::8']
  expect(all.filter(isTemporary)).toEqual(['2001:db8::89ab:0:0:cdef', '2001:db8::8'])
})

describe('port 25 is', () => {
  const { config } = readConfig({
    env: { MAYFLY_HOST: '127.0.0.1', MAYFLY_SMTP_HOSTNAME: 'mx.test' },
    file: {},
  })
  for (const [greeting, state] of [
    ['220 mx.test ESMTP ready\r\n', 'this service'],
    ['220 mx.old.test ESMTP ready\r\n', 'this service'],
    ['220 mx.test ESMTP Exim 4.96 Mon, 16 Nov 2026 17:00:00 +0000\r\n', 'in use'],
    ['220-mx.test ESMTP Postfix\r\n220 mx.test\r\n', 'in use'],
  ] as const) {
    test(`${state} if the server there says ${greeting.trim()}`, async () => {
      const server = createServer((socket) => void socket.on('error', () => {}).end(greeting))
      await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
      const { port } = server.address() as { port: number }
      const seen = state === 'in use' ? greeting.split('\r\n')[0] : ''
      expect(await smtpPortState(config, port)).toEqual({ state, seen })
      await new Promise((done) => void server.close(done))
      expect(await smtpPortState(config, port)).toEqual({ state: 'free', seen: '' })
    })
  }

  test('unusable if the service could not listen there', async () => {
    const { config: elsewhere } = readConfig({ env: { MAYFLY_HOST: 'ff02::1' }, file: {} })
    const { state, seen } = await smtpPortState(elsewhere, 25)
    expect([state, seen]).toEqual(['unusable', expect.stringContaining('EINVAL')])
  })
})
