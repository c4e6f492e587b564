import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Address, Data } from './store.ts'
import { startWatch, type Watch } from './watch.ts'

// With the storage of a browser in memory, and responses in the order that the test wants.

const stored: Partial<Record<keyof Data, unknown>> = {}
const area = {
  get: (names: (keyof Data)[]) =>
    Promise.resolve(
      structuredClone(Object.fromEntries(names.map((name) => [name, stored[name] ?? []]))),
    ),
  set: (values: object) => Promise.resolve(void Object.assign(stored, structuredClone(values))),
}
const nothing = () => Promise.resolve()
const badges: string[] = []
const sentToPages: string[] = []
vi.stubGlobal('chrome', {
  storage: { local: area, session: area },
  alarms: { create: nothing, clear: nothing },
  action: {
    setBadgeText: ({ text }: { text: string }) => Promise.resolve(void badges.push(text)),
    setBadgeBackgroundColor: nothing,
  },
  // The first one hangs while it is loaded.
  scripting: {
    executeScript: ({ target }: { target: { tabId: number } }) =>
      target.tabId === 1 ? new Promise(() => undefined) : nothing(),
  },
  tabs: {
    query: () => Promise.resolve([1, 2].map((tab) => ({ id: tab, url: 'https://shop.test/' }))),
    sendMessage: (tab: number, { type }: { type: string }) =>
      Promise.resolve(void sentToPages.push(`${type} ${tab}`)),
  },
  i18n: { getMessage: (name: string) => name },
})
/** How many requests there were, also of copies of the address. */
let sent = 0
/** Of the last request. */
let query = new URLSearchParams()
/** Requests that wait for their response, by path. Those of former tests are not among them. */
const pending = new Map<string, (response: Response) => void>()
vi.stubGlobal('fetch', (url: string, { headers }: { headers: { authorization: string } }) => {
  const { promise, resolve } = Promise.withResolvers<Response>()
  const { pathname, searchParams } = new URL(url)
  if (headers.authorization.startsWith(`Bearer ${id}`)) sent += 1
  if (headers.authorization !== `Bearer ${id}`) return promise
  pending.set(pathname, resolve)
  query = searchParams
  return promise
})
// Another file may have loaded them with its own browser.
vi.resetModules()
const { extend } = await import('./actions.ts')
const { pollDue, refresh, watchAddress } = await import('./mail.ts')
const { pageRequests } = await import('./requests.ts')
afterAll(() => vi.unstubAllGlobals())

const HOUR = 3_600_000
/** The address of this test, and its token. */
let id = ''
const addresses = () => stored.addresses as Address[]
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR).toISOString()

beforeEach(() => {
  pending.clear()
  badges.length = 0
  sentToPages.length = 0
  sent = 0
  stored.watches = []
  id = crypto.randomUUID()
  const address = { id, token: id, server: 'http://mail.test', email: 'a@mail.test' }
  const times = { expiresAt: Date.now() + HOUR, isPermanent: false, lastId: 0 }
  stored.addresses = [{ ...address, ...times, site: 'shop.test' } satisfies Address]
})

async function respond(
  path: string,
  body: object,
  status = 200,
  headers: Record<string, string> = {},
): Promise<void> {
  await vi.waitUntil(() => pending.has(path))
  pending.get(path)?.(Response.json(body, { status, headers }))
  pending.delete(path)
}

const EXPIRED = { status: 'error', code: 'session_expired', message: '' }

test.each([
  ['session_expired', false],
  // Nothing can restore it.
  ['invalid_token', true],
])('an address with the response %s is over', async (code, isUnknown) => {
  const done = refresh()
  await respond('/api/check-mail', { ...EXPIRED, code }, 401)
  await done
  expect(addresses()[0]?.expiresAt).toBeLessThanOrEqual(Date.now())
  expect(addresses()[0]?.isUnknown).toBe(isUnknown)
})

test('the address of the site comes back if its server knows it again', async () => {
  const [address] = addresses()
  expect.assert(address)
  Object.assign(address, { expiresAt: Date.now() - HOUR, isUnknown: true })
  const done = refresh('shop.test')
  await respond('/api/check-mail', list())
  await done
  expect(addresses()[0]?.isUnknown).toBe(false)
  expect(addresses()[0]?.expiresAt).toBeGreaterThan(Date.now())
})

test.each([
  ['that it has expired', EXPIRED, 401],
  ['when it expires', { messages: [], expires_at_iso: inHours(1) }, 200],
])(
  'a response from before the address was extended does not decide %s',
  async (_, body, status) => {
    const done = refresh()
    await vi.waitUntil(() => pending.has('/api/check-mail'))
    const extended = extend({ id })
    await respond('/api/extend-session', { expires_at_iso: inHours(24) })
    await extended
    await respond('/api/check-mail', body, status)
    await done
    expect(addresses()[0]?.expiresAt).toBeGreaterThan(Date.now() + 23 * HOUR)
  },
)

test('a server that is away is said in a sentence', async () => {
  const done = refresh()
  await respond('/api/check-mail', { status: 'error', code: 'internal' }, 500)
  await expect(done).rejects.toThrow('error_away')
})

const list = (...ids: number[]) => ({
  messages: ids.map((id) => ({ id })),
  expires_at_iso: inHours(1),
})

const MESSAGE = { id: 1, code: '1234', links: [], sender_email: 'a@shop.test', auth: null }

describe('after what no server should send, the next request waits', () => {
  test.each([
    ['a list without messages', {}, 200, {}],
    ['a list without an end', { messages: [] }, 200, {}],
    ['a list of nothing', { ...list(), messages: [null] }, 200, {}],
    ['a list of messages without ids', { ...list(), messages: [{}] }, 200, {}],
    [
      'Retry-After as a date',
      { code: 'rate_limited' },
      429,
      { 'retry-after': 'Wed, 21 Oct 2099 07:28:00 GMT' },
    ],
  ])('%s', async (_, body, status, headers) => {
    const start = Date.now()
    void watchAddress(id)
    await respond('/api/check-mail', body, status, headers)
    await vi.waitUntil(() => (stored.watches as Watch[])[0]?.failures === 1)
    expect((stored.watches as Watch[])[0]?.nextAt).toBeGreaterThanOrEqual(start + 30_000)
  })

  test.each([
    ['without links', { ...MESSAGE, links: undefined }, 'error_no_server'],
    ['with another id', { ...MESSAGE, id: 2 }, 'error_no_server'],
    ['with a link of nothing', { ...MESSAGE, links: [null] }, 'error_internal'],
  ])('a message %s', async (_, message, sentence) => {
    const done = refresh()
    await respond('/api/check-mail', list(1))
    await respond('/api/read-mail', { message })
    await expect(done).rejects.toThrow(sentence)
  })
})

test('mail of an address that was restored is waited for', async () => {
  void extend({ id })
  await respond('/api/extend-session', { expires_at_iso: inHours(24) })
  await vi.waitUntil(() => pending.has('/api/check-mail'))
  expect(query.get('wait')).toBe('25')
})

test('a code is offered', async () => {
  void watchAddress(id)
  await respond('/api/check-mail', list(1))
  await respond('/api/read-mail', { message: MESSAGE })
  await vi.waitUntil(() => badges.length > 0)
  expect(badges).toEqual(['1'])
})

test('a page that does not respond holds up neither the offer to another nor the next request', async () => {
  void watchAddress(id)
  await respond('/api/check-mail', list(1))
  await respond('/api/read-mail', { message: MESSAGE })
  await vi.waitUntil(() => pending.has('/api/check-mail'))
  expect(sentToPages).toEqual(['offer 2'])
})

test.each([
  ['without a badge if it is of the site of the popup', 'shop.test', []],
  ['with a badge if it is of another site', 'other.test', ['1']],
])('what the popup finds is offered in pages, too, %s', async (_, site, expected) => {
  const done = refresh(site)
  await respond('/api/check-mail', list(1))
  await respond('/api/read-mail', { message: MESSAGE })
  await done
  await vi.waitUntil(() => sentToPages.length > 0)
  expect(sentToPages).toEqual(['offer 2'])
  expect(badges).toEqual(expected)
})

test('a link is offered with the host that it leads to', async () => {
  const links = [
    { kind: 'verify', url: 'https://', host: 'shop.test' },
    { kind: 'verify', url: 'https://other.test/confirm', host: 'shop.test' },
  ]
  const done = refresh()
  await respond('/api/check-mail', list(1))
  await respond('/api/read-mail', { message: { ...MESSAGE, links } })
  await done
  expect(addresses()[0]?.latest?.link?.host).toBe('other.test')
})

test('no link of a forged sender is offered', async () => {
  const links = [{ kind: 'verify', url: 'https://shop.test/', host: 'shop.test' }]
  const done = refresh()
  await respond('/api/check-mail', list(1))
  await respond('/api/read-mail', { message: { ...MESSAGE, links, auth: { dmarc: 'fail' } } })
  await done
  expect(addresses()[0]?.latest).toMatchObject({ code: '1234', link: null, badge: 'forged' })
})

test('a code of an address that was deleted meanwhile is not offered', async () => {
  void watchAddress(id)
  await respond('/api/check-mail', list(1))
  stored.addresses = []
  await respond('/api/read-mail', { message: MESSAGE })
  await vi.waitUntil(() => (stored.watches as Watch[]).length === 0)
  expect(badges).toEqual([])
})

test.each([
  ['waits if it is older than two others', 2, {}, '25'],
  ['does not wait if it is older than three others', 3, {}, null],
  ['waits if the others are of another server', 3, { server: 'http://other.test' }, '25'],
])('a watch %s', async (_, count, other, wait) => {
  const [address] = addresses()
  expect.assert(address)
  const ids = Array.from({ length: count }, (_one, at) => `${id} ${at}`)
  const now = Date.now()
  const copies = ids.map((copy) => ({ ...address, ...other, id: copy, token: copy }))
  stored.addresses = [address, ...copies]
  stored.watches = [startWatch(id, now - 1), ...ids.map((copy) => startWatch(copy, now))]
  await pollDue()
  await vi.waitUntil(() => pending.has('/api/check-mail'))
  expect(query.get('wait')).toBe(wait)
})

test.each([
  ['two days ahead', 48],
  ['two days behind', -48],
])('if the clock of this device is %s, an address still has its hour', async (_, hoursAhead) => {
  const date = new Date(Date.now() - hoursAhead * HOUR).toUTCString()
  const done = refresh()
  const body = { messages: [], expires_at_iso: inHours(1 - hoursAhead) }
  await respond('/api/check-mail', body, 200, { date })
  await done
  const minutesLeft = ((addresses()[0]?.expiresAt ?? 0) - Date.now()) / 60_000
  expect(Math.abs(minutesLeft - 60)).toBeLessThan(2)
})

test('a watch that became due during a refresh goes on after it', async () => {
  const done = pageRequests.refresh({ tabId: undefined })
  await vi.waitUntil(() => pending.has('/api/check-mail'))
  stored.watches = [startWatch(id, Date.now())]
  await respond('/api/check-mail', list())
  await done
  await vi.waitUntil(() => pending.has('/api/check-mail'))
  expect(query.get('wait')).toBe('25')
})

test('of very many addresses, the newest are refreshed, and that of the site', async () => {
  const [address] = addresses()
  expect.assert(address)
  const newer = Array.from({ length: 60 }, (_, at) => {
    const copy = `${id} ${at}`
    return { ...address, id: copy, token: copy, site: 'other.test' }
  })
  stored.addresses = [...newer, address]
  void refresh('shop.test')
  await vi.waitUntil(() => pending.has('/api/check-mail'))
  expect(sent).toBe(50)
})
