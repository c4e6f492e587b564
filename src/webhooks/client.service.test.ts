import { randomBytes } from 'node:crypto'
import systemDns from 'node:dns/promises'
import { once } from 'node:events'
import { createServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openDnsServer } from '../../test/kit/dns/dns-server.ts'
import { isProblem } from '../../test/kit/http/problem.ts'
import { openReceiver } from '../../test/kit/http/webhook-receiver.ts'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { selfSigned } from '../tls/x509.ts'
import { openWebhookClient } from './client.ts'
import type { AllowedTargets } from './target.ts'

const LOOPBACK: AllowedTargets = { hosts: [], ranges: ['127.0.0.1'] }
const NONE: AllowedTargets = { hosts: [], ranges: [] }
// Never reached: a machine may stall for seconds.
const TIMEOUT_MS = 60_000

let receiver: Awaited<ReturnType<typeof openReceiver>>
let dns: Awaited<ReturnType<typeof openDnsServer>>
beforeAll(async () => {
  receiver = await openReceiver()
  dns = await openDnsServer({})
})
afterAll(async () => {
  await receiver.close()
  await dns.close()
})
afterEach(() => {
  receiver.state.behaviour = 200
  receiver.state.headers = {}
  receiver.received.length = 0
})

const local = openWebhookClient({ allowed: LOOPBACK, dnsServers: [], timeoutMs: TIMEOUT_MS })
const post = (url: string, client = local) =>
  client.send({ url, keyId: 'key_1', headers: { 'webhook-id': 'msg_1' }, body: '{"data":{}}' })

describe('one attempt', () => {
  test('posts the body as JSON with the headers given', async () => {
    const { status, error } = await post(receiver.url)
    expect([status, error]).toStrictEqual([200, null])
    const [one] = receiver.received
    expect(one?.body).toBe('{"data":{}}')
    expect(one?.id).toBe('msg_1')
    expect(one?.headers['content-type']).toBe('application/json')
    expect(one?.headers['host']).toBe(`127.0.0.1:${receiver.port}`)
  })

  for (const [behaviour, status, error] of [
    [204, 204, null],
    [503, 503, null],
    ['redirect', 302, null],
    ['endless', 200, null],
    ['slow', 200, null],
    ['reset', null, 'invalid_response'],
    ['upgrade', null, 'invalid_response'],
    ['garbage', null, 'invalid_response'],
  ] as const) {
    test(`${behaviour}: ${error ?? status}`, async () => {
      receiver.state.behaviour = behaviour
      const outcome = await post(receiver.url)
      expect([outcome.status, outcome.error]).toStrictEqual([status, error])
      // A redirect is not followed.
      expect(receiver.received.length).toBe(1)
    })
  }

  for (const behaviour of ['hang', 'continue'] as const) {
    test(`${behaviour}: timeout`, async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      onTestFinished(() => void vi.useRealTimers())
      receiver.state.behaviour = behaviour
      const sent = post(receiver.url)
      while (receiver.received.length === 0) await nextTurn()
      vi.advanceTimersByTime(TIMEOUT_MS)
      expect(await sent).toMatchObject({ status: null, error: 'timeout' })
      expect(receiver.received.length).toBe(1)
    })
  }

  test('returns Retry-After', async () => {
    receiver.state.behaviour = 429
    receiver.state.headers = { 'retry-after': '17' }
    expect((await post(receiver.url)).retryAfter).toBe('17')
  })

  test('finds a receiver at localhost where loopback is allowed', async () => {
    const { status } = await post(
      `http://localhost:${receiver.port}/`,
      openWebhookClient({
        allowed: { hosts: [], ranges: ['127.0.0.0/8', '::1'] },
        dnsServers: [],
      }),
    )
    expect(status).toBe(200)
  })

  test('fails without a listener', async () => {
    const { error } = await post('http://127.0.0.1:1/')
    expect(error).toBe('connection_failed')
  })

  test('rejects if we are wrong, instead of blaming the receiver', async () => {
    const request = { url: receiver.url, keyId: 'key_1', headers: { 'webhook-id': '\n' }, body: '' }
    await expect(local.send(request)).rejects.toThrow(TypeError)
  })

  for (const behaviour of ['hang', 'continue'] as const) {
    test(`rejects if it is aborted: ${behaviour}`, async () => {
      receiver.state.behaviour = behaviour
      const end = new AbortController()
      const patient = openWebhookClient({
        allowed: LOOPBACK,
        dnsServers: [],
        timeoutMs: TIMEOUT_MS,
      })
      const sent = patient.send({
        url: receiver.url,
        keyId: 'key_1',
        headers: {},
        body: '{}',
        signal: end.signal,
      })
      await waitUntil(() => receiver.received.length === 1)
      end.abort(new Error('over'))
      await expect(sent).rejects.toThrow(/over/)
    })
  }
})

describe('a name', () => {
  const client = (allowed = NONE) =>
    openWebhookClient({ allowed, dnsServers: [dns.server], timeoutMs: TIMEOUT_MS })

  test('that resolves to a special-purpose address is refused when it is created', async () => {
    dns.zone['A 127.0.0.1.nip.test'] = ['127.0.0.1']
    dns.zone['AAAA six.test'] = ['::1']
    dns.zone['A both.test'] = ['93.184.215.14', '10.0.0.1']
    for (const host of ['127.0.0.1.nip.test', 'six.test', 'both.test']) {
      await expect(client().check(`https://${host}/`, 'key_1')).rejects.toSatisfy(
        isProblem('not_allowed'),
      )
    }
    await expect(client().check('https://missing.test/', 'key_1')).rejects.toSatisfy(
      isProblem('invalid_url'),
    )
    await expect(client().check('http://both.test/', 'key_1')).rejects.toSatisfy(
      isProblem('not_allowed'),
    )
  })

  test('that resolves to another address later is refused then: nothing is connected to', async () => {
    dns.zone['A rebind.test'] = ['93.184.215.14']
    const listener = createTcpServer((socket) => socket.destroy())
    let connections = 0
    listener.on('connection', () => {
      connections += 1
    })
    // The port is fixed, so the address is not.
    const here = `127.${[...randomBytes(3)].join('.')}`
    listener.listen(8443, here)
    await once(listener, 'listening')
    onTestFinished(() => void listener.close())
    const one = client()
    expect(await one.check('https://rebind.test:8443', 'key_1')).toBe('https://rebind.test:8443/')
    for (const address of ['169.254.169.254', '10.0.0.1', here]) {
      dns.zone['A rebind.test'] = [address]
      const { error } = await post('https://rebind.test:8443/', one)
      expect(error).toBe('not_allowed')
    }
    expect(connections).toBe(0)
    // As a control, where it is allowed.
    const allowed = { hosts: [], ranges: [here] }
    expect((await post('https://rebind.test:8443/', client(allowed))).status).toBe(null)
    expect(connections).toBe(1)
  })

  test('is resolved once for each attempt, and connected to as resolved', async () => {
    dns.zone['A once.test'] = ['127.0.0.1']
    dns.asked.length = 0
    const { status } = await post(`http://once.test:${receiver.port}/`, client(LOOPBACK))
    expect(status).toBe(200)
    expect(dns.asked.toSorted()).toStrictEqual(['A once.test', 'AAAA once.test'])
    expect(receiver.received[0]?.headers['host']).toBe(`once.test:${receiver.port}`)
  })

  test('is resolved by the servers that the system has now, not when the process started', async () => {
    const before = systemDns.getServers()
    onTestFinished(() => systemDns.setServers(before))
    // What this process has read once.
    systemDns.setServers([dns.server])
    dns.zone['A stale.test'] = ['127.0.0.1']
    dns.asked.length = 0
    await post(
      `http://stale.test:${receiver.port}/`,
      openWebhookClient({ allowed: LOOPBACK, dnsServers: [], timeoutMs: 200 }),
    )
    expect([dns.asked, receiver.received.length]).toStrictEqual([[], 0])
  })

  test('without an answer from its servers times out', async () => {
    dns.zone['A silent.test'] = 'silence'
    dns.zone['AAAA silent.test'] = 'silence'
    const { error } = await post(
      'https://silent.test/',
      openWebhookClient({ allowed: NONE, dnsServers: [dns.server], timeoutMs: 100 }),
    )
    expect(error).toBe('timeout')
  })
})

describe('names whose servers never answer', () => {
  const silent = (at: number) => {
    dns.zone[`A silent${at}.test`] = 'silence'
    dns.zone[`AAAA silent${at}.test`] = 'silence'
    return `https://silent${at}.test/`
  }
  const open = () =>
    openWebhookClient({ allowed: LOOPBACK, dnsServers: [dns.server], timeoutMs: TIMEOUT_MS })
  const stuckIn = (client: ReturnType<typeof open>, count: number, signal: AbortSignal) => {
    const request = { keyId: 'key_1', headers: {}, body: '{}', signal }
    return Array.from({ length: count }, (_, at) => client.send({ ...request, url: silent(at) }))
  }

  test('delay no other name, of whichever key, and end with the caller', async () => {
    const client = open()
    const end = new AbortController()
    const stuck = stuckIn(client, 9, end.signal)
    dns.zone['A once.test'] = ['127.0.0.1']
    const { status } = await post(`http://once.test:${receiver.port}/`, client)
    expect(status).toBe(200)
    end.abort(new Error('over'))
    const ended = await Promise.allSettled(stuck)
    expect(ended.map((one) => one.status === 'rejected' && String(one.reason))).toStrictEqual(
      Array(9).fill('Error: over'),
    )
  })

  test('are at most ten at a time per key', async () => {
    const client = open()
    const end = new AbortController()
    const stuck = stuckIn(client, 10, end.signal)
    await expect(client.check(silent(10), 'key_1')).rejects.toSatisfy(isProblem('overloaded'))
    end.abort(new Error('over'))
    await Promise.allSettled(stuck)
    dns.zone['A public.test'] = ['93.184.215.14']
    expect(await client.check('https://public.test', 'key_1')).toBe('https://public.test/')
  })
})

describe('TLS', () => {
  const serial = Buffer.from([1, 2, 3])
  const pem = selfSigned({ hostname: 'receiver.test', serial, now: new Date() })
  const certificate = pem.slice(pem.indexOf('-----BEGIN CERTIFICATE'))
  async function openTls() {
    const server = createServer({ cert: pem, key: pem }, (_request, response) => response.end())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    return (server.address() as AddressInfo).port
  }
  const client = (ca?: string) =>
    openWebhookClient({
      allowed: LOOPBACK,
      dnsServers: [dns.server],
      timeoutMs: TIMEOUT_MS,
      ...(ca === undefined ? {} : { ca }),
    })

  test('a certificate is verified for the name in the URL, not for the address', async () => {
    dns.zone['A receiver.test'] = ['127.0.0.1']
    dns.zone['A other.test'] = ['127.0.0.1']
    const port = await openTls()
    const trusting = client(certificate)
    expect((await post(`https://receiver.test:${port}/`, trusting)).status).toBe(200)
    expect((await post(`https://other.test:${port}/`, trusting)).error).toBe('tls')
    expect((await post(`https://receiver.test:${port}/`, client())).error).toBe('tls')
    expect((await post(`https://127.0.0.1:${port}/`, trusting)).error).toBe('tls')
  })
})
