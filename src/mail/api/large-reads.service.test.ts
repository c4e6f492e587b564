import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openTestServer, type TestServer } from '../../../test/kit/http/http-server.ts'
import { parseMail } from '../../mime/parse.ts'

// Parallel requests for one large mail. The store is the real one, and its reads are counted.

const LINE = 'A "quoted" \\ line with é and 漢 <br>\r\n'
const HTML = LINE.repeat(100_000)
const FILE = randomBytes(2_000_000)
const RAW = [
  'Subject: large',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/html; charset=utf-8',
  '',
  HTML,
  '--b',
  'Content-Type: application/octet-stream',
  'Content-Disposition: attachment; filename=a',
  'Content-Transfer-Encoding: base64',
  '',
  FILE.toString('base64').replace(/(.{76})/g, '$1\r\n'),
  '--b--',
  '',
].join('\r\n')

let server: TestServer
let token: string
let id: number
let reads = 0

function counted<Store extends object>(store: Store): Store {
  const wrapped = Object.entries(store).map(([name, call]) => {
    if (!/^read(Raw|Parsed)/.test(name)) return [name, call]
    return [
      name,
      (...args: unknown[]) => {
        reads += 1
        return call(...args)
      },
    ]
  })
  return Object.fromEntries(wrapped) as Store
}

beforeAll(async () => {
  // So many threads share the send budget that this one has 32 MB of it, and a client 8 MB.
  const env = { MAYFLY_HTTP_THREADS: '8', MAYFLY_TRUST_PROXY: '127.0.0.0/8' }
  server = await openTestServer({ env, wrapStore: counted, parse: async (raw) => parseMail(raw) })
  const created = await fetch(`${server.url}/api/create-session`, { method: 'POST' })
  const session = (await created.json()) as { email: string; token: string }
  token = session.token
  await server.mail(session.email, RAW)
  const list = await fetch(`${server.url}/api/check-mail?token=${token}`)
  id = ((await list.json()) as { messages: { id: number }[] }).messages[0]?.id ?? 0
})
afterAll(() => server.stop())

interface Path {
  url(): string
  init?: () => RequestInit
  /** Whether the response contains the large part. */
  isWhole(body: Buffer): boolean
}

const PATHS: Record<string, Path> = {
  'read-mail': {
    url: () => `/api/read-mail?token=${token}&id=${id}`,
    isWhole: (body) =>
      JSON.parse(body.toString()).message.body_html.trim() === HTML.replaceAll('\r\n', '\n').trim(),
  },
  'raw-mail': {
    url: () => `/api/raw-mail?token=${token}&id=${id}`,
    isWhole: (body) => body.toString().endsWith(RAW),
  },
  attachment: {
    url: () => `/api/attachment?token=${token}&id=${id}&index=0`,
    isWhole: (body) => body.equals(FILE),
  },
  'the page without scripts': {
    url: () => `/plain/mail/${id}`,
    init: () => ({ headers: { cookie: `mayfly-plain=${token}` } }),
    isWhole: (body) => body.includes('line with é'),
  },
  'read_message of /mcp': {
    url: () => '/mcp',
    init: () => ({
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'read_message', arguments: { token, id } },
      }),
    }),
    isWhole: (body) => body.includes('line with é'),
  },
}

/** Each client has its own part of the send budget. */
let clients = 0
const nextClient = () => {
  clients += 1
  return `203.0.113.${clients}`
}
const fetchPath = async ({ url, init }: Path, client = nextClient()) => {
  const { headers, ...options } = init?.() ?? {}
  const response = await fetch(`${server.url}${url()}`, {
    ...options,
    headers: { ...headers, 'x-forwarded-for': client },
  })
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
}

describe.each(Object.entries(PATHS))('%s of a large mail', (_name, path) => {
  beforeEach(async () => {
    // Now it is parsed, and its size is known.
    expect((await fetchPath(path)).status).toBe(200)
    reads = 0
  })

  test('is read once for all who wait for it, and what is large is never serialized again', async () => {
    const isLarge = (text: unknown) => typeof text === 'string' && text.length > 1_000_000
    const stringify = vi.spyOn(JSON, 'stringify')
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => {
      stringify.mockRestore()
      parse.mockRestore()
    })
    const responses = await Promise.all(Array.from({ length: 4 }, () => fetchPath(path)))
    const serialized = stringify.mock.results.filter(({ value }) => isLarge(value)).length
    const parsed = parse.mock.calls.filter(([text]) => isLarge(text)).length
    for (const { status, body } of responses) {
      expect(status).toBe(200)
      expect(path.isWhole(body)).toBeTruthy()
    }
    expect(reads, `${reads} reads`).toBeLessThanOrEqual(2)
    expect([serialized, parsed > 1]).toStrictEqual([0, false])
  })
})

describe.each(['read-mail', 'raw-mail', 'attachment'])('%s beyond the send budget', (name) => {
  test('is refused before the mail is read', async () => {
    const path = PATHS[name] as Path
    const client = '198.51.100.1'
    expect((await fetchPath(path)).status).toBe(200)
    // A client that reads only the beginning of a response of 6 MB.
    const socket = connect(server.port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write(
      `GET ${PATHS['raw-mail']?.url()} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${client}\r\n\r\n`,
    )
    await once(socket, 'readable')
    reads = 0
    expect((await fetchPath(path, client)).status).toBe(503)
    // An attachment is found in the parsed mail.
    expect(reads).toBe(name === 'attachment' ? 1 : 0)
    expect((await fetchPath(path, '198.51.100.2')).status, 'another client').toBe(200)
  })
})
