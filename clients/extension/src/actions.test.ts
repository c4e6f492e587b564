import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import type { Address, Server } from './store.ts'

// The context menu and the shortcut, with a page and a server that respond as the test wants.

const stored: Record<string, unknown> = {}
const area = {
  get: (names: string[]) =>
    Promise.resolve(Object.fromEntries(names.map((name) => [name, stored[name] ?? []]))),
  set: (values: object) => {
    if (isFull && 'addresses' in values) return Promise.reject(new Error('QUOTA_BYTES exceeded'))
    onStored()
    return Promise.resolve(void Object.assign(stored, values))
  },
}
const nothing = () => Promise.resolve()
const TAB = { id: 1, url: 'https://www.shop.test/sign-up' }
let canRun = true
let hasField = true
let isFull = false
let onStored: () => void = () => undefined
/** Access to the site. */
let isGranted = false
/** The tab is elsewhere when the address has been created. */
let isLeft = false
/** What happened, in order. */
const seen: unknown[] = []
vi.stubGlobal('chrome', {
  storage: { local: area, session: area },
  alarms: { create: nothing, clear: nothing },
  action: {
    setBadgeText: ({ text }: { text: string }) => Promise.resolve(seen.push(`badge ${text}`)),
    setBadgeBackgroundColor: nothing,
  },
  permissions: {
    contains: () => Promise.resolve(isGranted),
    remove: ({ origins }: { origins: string[] }) =>
      Promise.resolve(seen.push(`remove ${origins}`) > 0),
  },
  runtime: { openOptionsPage: () => Promise.resolve(void seen.push('options')) },
  scripting: { executeScript: () => (canRun ? nothing() : Promise.reject(new Error('no access'))) },
  tabs: {
    create: ({ url }: { url: string }) => Promise.resolve(seen.push(`open ${url}`)),
    query: () => Promise.resolve([TAB]),
    sendMessage: (_tab: number, message: { type: string }) => {
      seen.push(message)
      if (message.type === 'find') return Promise.resolve(hasField)
      return Promise.resolve(message.type !== 'fill' || !isLeft)
    },
  },
  i18n: { getMessage: (name: string) => name },
})
const created = { email: 'a@mail.test', token: 'secret', expires_at_iso: '2100-01-01T00:00:00Z' }
let response: () => Response
vi.stubGlobal('fetch', (url: string, { body }: { body?: string }) => {
  const { pathname } = new URL(url)
  if (/delete/.test(pathname)) seen.push('delete')
  if (/domains|delete/.test(pathname)) return Promise.reject(new TypeError('away'))
  if (pathname !== '/api/create-session') return new Promise(() => undefined)
  seen.push(`create ${body}`)
  return Promise.resolve(response())
})
// Another file may have loaded them with its own browser.
vi.resetModules()
const { deleteAddress, fillPage, markUsed, openLink, saveServer } = await import('./actions.ts')
const { contentRequests } = await import('./requests.ts')
afterAll(() => vi.unstubAllGlobals())

beforeEach(() => {
  seen.length = 0
  canRun = true
  hasField = true
  isFull = false
  onStored = () => undefined
  isLeft = false
  isGranted = false
  response = () => Response.json(created)
  Object.assign(stored, { servers: [{ url: 'http://mail.test' } satisfies Server], addresses: [] })
})

test('an address is created for the site and filled in; the page gets no token', async () => {
  await fillPage(TAB)
  expect(seen).toEqual([
    { type: 'find', site: 'shop.test', isHere: false },
    'create {"label":"shop.test"}',
    { type: 'fill', site: 'shop.test', email: 'a@mail.test' },
  ])
  expect(JSON.stringify(stored)).toContain('secret')
})

test('the label of a long host name has the end of it, which tells whose it is', async () => {
  await fillPage({ id: 1, url: `https://accounts.shop.test.${'a'.repeat(60)}.evil.test/` })
  expect(stored['addresses']).toHaveLength(1)
  expect(seen[1]).toMatch(/"label":"a+\.evil\.test"/)
})

test('a field in a frame is filled for the site of the frame', async () => {
  await fillPage(TAB, { frameId: 3, frameUrl: 'https://forms.test/embed' })
  expect(seen).toEqual([
    { type: 'find', site: 'forms.test', isHere: false },
    'create {"label":"forms.test"}',
    { type: 'fill', site: 'forms.test', email: 'a@mail.test' },
  ])
})

test('a page that was left meanwhile is told that nothing was filled in', async () => {
  isLeft = true
  await fillPage(TAB)
  expect(seen.at(-1)).toEqual({ type: 'note', text: 'error_no_field' })
})

test('the button of a page whose site is no longer allowed creates no address', async () => {
  const page = { url: TAB.url, site: 'shop.test' }
  await expect(contentRequests['new-address']({}, page)).rejects.toThrow('error_no_access')
  expect(seen).toEqual([])
  isGranted = true
  expect(await contentRequests['new-address']({}, page)).toBe('a@mail.test')
})

test('no button is shown on the host of a server', async () => {
  isGranted = true
  const page = { url: 'http://mail.test:8080/', site: 'http://mail.test:8080' }
  expect(await contentRequests['page-state']({}, page)).toEqual({ isAllowed: false, offer: null })
})

test('no address is created for a page without a field', async () => {
  hasField = false
  await fillPage(TAB)
  expect(seen).toEqual([
    { type: 'find', site: 'shop.test', isHere: false },
    { type: 'note', text: 'error_no_field' },
  ])
})

for (const [status, code, text] of [
  [401, 'invalid_key', 'error_key'],
  [402, 'quota_exhausted', 'error_plan'],
  [400, 'unknown_domain', 'error_domain'],
  [409, 'address_taken', 'error_taken'],
  [429, 'rate_limited', 'error_busy'],
  [429, 'daily_limit', 'error_plan'],
  [503, 'overloaded', 'error_busy'],
  [500, 'internal', 'error_away'],
  [400, 'constructor', 'error_other'],
  [400, { toString: 'no text' }, 'error_internal'],
] as const) {
  test(`${status} ${JSON.stringify(code)} is said in the page, which keeps what was typed`, async () => {
    response = () => Response.json({ status: 'error', code, message: '' }, { status })
    await fillPage(TAB)
    expect(seen.at(-1)).toEqual({ type: 'note', text })
    expect(stored['addresses']).toEqual([])
  })
}

test.each([{}, { ...created, token: undefined }, { ...created, expires_at_iso: 'soon' }])(
  'no address is made of %o',
  async (body) => {
    response = () => Response.json(body)
    await fillPage(TAB)
    expect(seen.at(-1)).toEqual({ type: 'note', text: 'error_no_server' })
    expect(stored['addresses']).toEqual([])
  },
)

test('an address that cannot be stored is deleted again, and nothing of the browser is shown', async () => {
  isFull = true
  await fillPage(TAB)
  expect(seen.slice(2)).toEqual(['delete', { type: 'note', text: 'error_internal' }])
})

test('where no script may run, a badge says so', async () => {
  canRun = false
  await fillPage(TAB)
  await fillPage({ id: 1, url: 'about:blank' })
  expect(seen).toEqual(['badge !', 'badge !'])
})

test('without a server, the options are opened', async () => {
  stored['servers'] = []
  await fillPage(TAB)
  expect(seen).toEqual(['options'])
})

test.each([
  [false, ['remove http://away.test/*']],
  // It was an allowed site.
  [true, []],
])(
  'a server that is away keeps no access that it did not have (%s)',
  async (hadAccess, removed) => {
    const server = { url: 'http://away.test' }
    await expect(saveServer({ server, hadAccess })).rejects.toThrow('error_away')
    expect(seen).toEqual(removed)
  },
)

const latest = {
  id: 8,
  code: null,
  link: { url: 'https://shop.test/confirm', host: 'shop.test' },
  sender: 'shop.test',
  badge: 'proven' as const,
  at: 0,
  isUsed: false,
}
const address: Address = {
  id: 'a',
  server: 'http://mail.test',
  email: 'a@mail.test',
  token: 'secret',
  site: 'shop.test',
  expiresAt: Date.now() + 86_400_000,
  isPermanent: false,
  lastId: 8,
  latest,
}

test('the link of the message that was offered is opened', async () => {
  stored['addresses'] = [structuredClone(address)]
  await openLink({ id: 'a', messageId: 8 })
  expect(seen).toContain('open https://shop.test/confirm')
})

test('the link of a newer message is offered, not opened', async () => {
  stored['addresses'] = [structuredClone(address)]
  await openLink({ id: 'a', messageId: 7 })
  await vi.waitUntil(() => seen.length > 1)
  expect(seen).toEqual([
    'badge 1',
    { type: 'offer', site: 'shop.test', offer: expect.objectContaining({ messageId: 8 }) },
  ])
})

test('a newer message that was used is not offered again', async () => {
  stored['addresses'] = [{ ...address, latest: { ...latest, isUsed: true } }]
  await openLink({ id: 'a', messageId: 7 })
  expect(seen).toEqual([])
})

test.each([
  ['has expired', { ...address, expiresAt: Date.now() - 1 }],
  ['is of a server that was removed', { ...address, server: 'http://removed.test' }],
])('an address that %s is deleted here if its server is away', async (_, gone) => {
  stored['addresses'] = [gone]
  await deleteAddress({ id: 'a' })
  expect(stored['addresses']).toEqual([])
  expect(seen).toEqual(['delete', 'badge ', { type: 'end-offer', id: 'a' }])
})

test('any other address stays until its server has deleted it', async () => {
  stored['addresses'] = [address]
  await expect(deleteAddress({ id: 'a' })).rejects.toThrow('error_away')
  expect(stored['addresses']).toEqual([address])
})

test('what was used in one page is no longer offered in any', async () => {
  stored['addresses'] = [structuredClone(address)]
  await markUsed({ id: 'a', messageId: 7 })
  expect(seen).toEqual([])
  await markUsed({ id: 'a', messageId: 8 })
  expect(seen).toEqual(['badge ', { type: 'end-offer', id: 'a', messageId: 8 }])
})

test('the badge of a message that arrives while an older one is marked as used stays', async () => {
  stored['addresses'] = [structuredClone(address)]
  onStored = () => void seen.push('badge 1')
  await markUsed({ id: 'a', messageId: 8 })
  expect(seen.filter((one) => typeof one === 'string')).toEqual(['badge ', 'badge 1'])
})

const DAY = 86_400_000

test.each([
  ['29 days ago is kept though the clock has jumped ahead', 40, -29, true],
  ['31 days ago is removed though the clock has jumped ahead', 40, -31, false],
  ['31 days ago, by a clock that is behind, is removed', -40, -71, false],
  ['29 days ago, by a clock that is behind, is kept', -40, -69, true],
])('an address that expired %s', async (_, daysAhead, days, isKept) => {
  const now = Date.parse('2030-01-01T00:00:00Z')
  vi.spyOn(Date, 'now').mockReturnValue(now + daysAhead * DAY)
  stored['addresses'] = [{ ...address, email: 'old@mail.test', expiresAt: now + days * DAY }]
  response = () => Response.json(created, { headers: { date: new Date(now).toUTCString() } })
  await fillPage(TAB)
  vi.restoreAllMocks()
  const emails = (stored['addresses'] as Address[]).map(({ email }) => email)
  expect(emails).toEqual(isKept ? ['a@mail.test', 'old@mail.test'] : ['a@mail.test'])
})
