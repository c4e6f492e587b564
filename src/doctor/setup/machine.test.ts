import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { tempFolder } from '../../../test/kit/store/stores.ts'
import { readConfig } from '../../runtime/config.ts'
import { reportEmail, setupActions, smtpPortState, temporaryAddresses } from './machine.ts'

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

describe('the reports of a domain go to', () => {
  for (const [rua, email] of [
    ['mailto:ann@a.test', 'ann@a.test'],
    ['mailto:ann@a.test!10m,mailto:bob@b.test', 'ann@a.test'],
    ["mailto:o'hara@a.test", undefined],
    ['https://a.test/reports', undefined],
  ] as const) {
    test(`${email ?? 'nobody'} with rua=${rua}`, () =>
      expect(reportEmail([`v=DMARC1; p=reject; rua=${rua}`])).toBe(email))
  }
})

describe('a service that runs is an installation', () => {
  const portOf = async (server: Server) => {
    onTestFinished(() => void server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return String((server.address() as AddressInfo).port)
  }
  const domains = (...names: string[]) =>
    JSON.stringify({ domains: names.map((domain) => ({ domain })) })
  for (const [name, greeting, body, isInUse] of [
    ['with a domain', '220 mx.test ESMTP ready', domains('reed.example', 'a.test'), true],
    ['without a domain for sessions', '220 mx.test ESMTP ready', domains(), true],
    ['without an answer', '220 mx.test ESMTP ready', '503', true],
    ['but not with examples', '220 mx.test ESMTP ready', domains('reed.example'), false],
    ['but another mail server is none', '220 mx.test ESMTP Exim', domains('a.test'), false],
  ] as const) {
    test(name, async () => {
      const folder = tempFolder()
      onTestFinished(folder.remove)
      const smtp = createServer(
        (socket) => void socket.on('error', () => {}).end(`${greeting}\r\n`),
      )
      const http = createHttpServer((_request, response) => response.end(body))
      const env = {
        MAYFLY_HOST: '127.0.0.1',
        MAYFLY_SMTP_PORT: await portOf(smtp),
        MAYFLY_HTTP_PORT: await portOf(http),
        // Nothing answers there.
        MAYFLY_DNS: '127.0.0.1:1',
      }
      const { inspectMachine } = setupActions({
        command: 'mayfly',
        cwd: folder.path,
        env,
        readConfig,
      })
      expect((await inspectMachine(undefined)).isInUse).toBe(isInUse)
    })
  }
})
