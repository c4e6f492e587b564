import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requestFrom } from '../../test/kit/http/http-client.ts'
import { openTestServer, type TestServer } from '../../test/kit/http/http-server.ts'
import { expectRate } from '../../test/kit/http/rate.ts'
import { newClient, PROXY, PROXY_ENV } from '../../test/kit/http/trusted-proxy.ts'

// Who may use /mcp, and how it counts. The tools through the official client: test/mcp.test.ts.

const MODERN = '2026-07-28'

// The clock is fixed, so rate limits are exact.
const now = new Date()
let server: TestServer
beforeAll(async () => {
  server = await openTestServer({ env: PROXY_ENV, now: () => now })
})
afterAll(() => server.stop())

/** One request without the official client, from a client of its own unless `headers` name it. */
async function post(
  method: string,
  params: object,
  headers: Record<string, string> = {},
  { port } = server,
) {
  return await postBody(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), headers, port)
}

async function postBody(body: string, headers: Record<string, string> = {}, port = server.port) {
  return await requestFrom(port, PROXY, {
    method: 'POST',
    path: '/mcp',
    headers: {
      host: 'localhost',
      'x-forwarded-for': newClient(),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body,
  })
}

const createInbox = (headers: Record<string, string> = {}, at = server) =>
  post('tools/call', { name: 'create_inbox', arguments: {} }, headers, at)

describe('a web page cannot use it', () => {
  for (const [name, headers, status] of [
    ['no Origin', {}, 200],
    ['the Origin of the site', { origin: 'http://localhost' }, 200],
    ['another Origin', { origin: 'http://evil.test' }, 403],
    ['the Origin of a sandboxed frame', { origin: 'null' }, 403],
    ['another port', { origin: 'http://localhost:81' }, 403],
    ['a name as Host', { host: 'evil.test' }, 403],
    ['a name as Host and Origin', { host: 'evil.test', origin: 'http://evil.test' }, 403],
    ['an IPv4 address as Host', { host: '192.0.2.1:8080' }, 200],
    ['an IPv6 address as Host', { host: '[2001:db8::1]:8080' }, 200],
    ['a name that looks like an address', { host: '127.0.0.1.evil.test' }, 403],
  ] as const) {
    test(`${name}: ${status}`, async () => {
      const response = await createInbox(headers)
      expect(response.status, response.text).toBe(status)
      expect(response.text.includes('token')).toBe(status === 200)
      expect(response.headers.get('access-control-allow-origin')).toBe(null)
      if (status === 403) expect(response.body['code']).toBe('not_allowed')
    })
  }
})

test('with a public URL, its host is the only one', async () => {
  const env = { ...PROXY_ENV, MAYFLY_BASE_URL: 'https://mail.test' }
  const named = await openTestServer({ env })
  for (const [host, origin, status] of [
    ['mail.test', 'https://mail.test', 200],
    ['mail.test:443', 'https://mail.test', 200],
    ['MAIL.test', 'https://mail.test', 200],
    ['mail.test', 'http://mail.test', 403],
    ['localhost', 'http://localhost', 403],
    ['127.0.0.1', 'https://mail.test', 403],
  ] as const) {
    expect((await createInbox({ host, origin }, named)).status, `${host} ${origin}`).toBe(status)
  }
  await named.stop()
})

test('a Bearer that is no key, as of a gateway, is ignored; a key is used', async () => {
  for (const [authorization, expected] of [
    ['Bearer of-a-gateway', /token/],
    ['Bearer mf_live_wrong', /invalid_key: /],
  ] as const) {
    const { status, text } = await createInbox({ authorization })
    expect(status).toBe(200)
    expect(text).toMatch(expected)
  }
})

test('MAYFLY_MCP=off: there is no such path', async () => {
  const off = await openTestServer({ env: { ...PROXY_ENV, MAYFLY_MCP: 'off' } })
  const { status, body } = await createInbox({}, off)
  expect([status, body['code']]).toStrictEqual([404, 'not_found'])
  await off.stop()
})

test('MAYFLY_MCP=codes: no tool returns the text of a mail', async () => {
  const codes = await openTestServer({ env: { ...PROXY_ENV, MAYFLY_MCP: 'codes' } })
  const list = await post('tools/list', {}, {}, codes)
  const { result } = JSON.parse(/\{.*\}/s.exec(list.text)?.[0] ?? '{}')
  const tools = result.tools as { name: string; annotations: Record<string, boolean> }[]
  expect(tools.map(({ name }) => name)).toStrictEqual([
    'create_inbox',
    'wait_for_code',
    'wait_for_link',
    'delete_inbox',
  ])
  expect(tools.map(({ annotations }) => annotations['destructiveHint'])).toStrictEqual([
    false,
    false,
    false,
    true,
  ])
  for (const name of ['list_messages', 'read_message']) {
    const { text } = await post('tools/call', { name, arguments: { token: 'x', id: 1 } }, {}, codes)
    expect(text).toMatch(/not found/i)
  }
  await codes.stop()
})

test('inboxes count like sessions: 60 a minute', async () => {
  const client = { 'x-forwarded-for': newClient() }
  await expectRate({ count: 60, seconds: 1 }, async () => {
    const { text } = await createInbox(client)
    return !text.includes('rate_limited: ')
  })
  expect((await post('tools/list', {}, client)).status).toBe(200)
})

test('there are no subscriptions, which would hold a connection', async () => {
  const envelope = {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  }
  const { text } = await post(
    'subscriptions/listen',
    { ...envelope, notifications: {} },
    {
      'mcp-protocol-version': MODERN,
      'mcp-method': 'subscriptions/listen',
    },
  )
  expect(text).toMatch(/Subscription limit reached/)
})

test('400: a batch, of which each message would have to be counted', async () => {
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  for (const batch of [`[${list}]`, `\ufeff \n[${list},${list}]`, '[]']) {
    const { status, body } = await postBody(batch)
    expect([status, body['code']], batch).toStrictEqual([400, 'invalid_parameter'])
  }
})

test('arguments that a tool does not take, or of another type, get one short message without them', async () => {
  const unknown = Object.fromEntries(
    Array.from({ length: 900 }, (_, at) => [`secret${at}`, 'secret']),
  )
  for (const [given, expected] of [
    [unknown, /must NOT have additional properties/],
    [{ only_from: Array(900).fill(1) }, /only_from/],
  ] as const) {
    const { text } = await post('tools/call', { name: 'create_inbox', arguments: given })
    expect(text).toMatch(expected)
    expect(text).not.toMatch(/secret/)
    expect(text.length, `${text.length} characters`).toBeLessThan(1_000)
  }
})
