import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import type { Address, Data } from './store.ts'

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
vi.stubGlobal('chrome', {
  storage: { local: area, session: area },
  alarms: { create: nothing, clear: nothing },
  action: { setBadgeText: nothing, setBadgeBackgroundColor: nothing },
  tabs: { query: () => Promise.resolve([]) },
  i18n: { getMessage: (name: string) => name },
})
/** Requests that wait for their response, by path. */
const pending = new Map<string, (response: Response) => void>()
vi.stubGlobal('fetch', (url: string) => {
  const { promise, resolve } = Promise.withResolvers<Response>()
  pending.set(new URL(url).pathname, resolve)
  return promise
})
// Another file may have loaded them with its own browser.
vi.resetModules()
const { extend } = await import('./actions.ts')
const { refresh } = await import('./mail.ts')
afterAll(() => vi.unstubAllGlobals())

const HOUR = 3_600_000
const address: Address = {
  id: 'a',
  server: 'http://mail.test',
  email: 'a@mail.test',
  token: 'token',
  site: 'shop.test',
  expiresAt: 0,
  isPermanent: false,
  lastId: 0,
}
const addresses = () => stored.addresses as Address[]
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR).toISOString()

beforeEach(() => {
  pending.clear()
  stored.addresses = [{ ...address, expiresAt: Date.now() + HOUR }]
})

async function respond(path: string, body: object, status = 200): Promise<void> {
  await vi.waitUntil(() => pending.has(path))
  pending.get(path)?.(Response.json(body, { status }))
}

const EXPIRED = { status: 'error', code: 'session_expired', message: '' }

test('an address that the server calls expired is over', async () => {
  const done = refresh()
  await respond('/api/check-mail', EXPIRED, 401)
  await done
  expect(addresses()[0]?.expiresAt).toBeLessThanOrEqual(Date.now())
})

test.each([
  ['that it has expired', EXPIRED, 401],
  ['when it expires', { messages: [], expires_at_iso: inHours(1) }, 200],
])(
  'a response from before the address was extended does not decide %s',
  async (_, body, status) => {
    const done = refresh()
    await vi.waitUntil(() => pending.has('/api/check-mail'))
    const extended = extend('a')
    await respond('/api/extend-session', { expires_at_iso: inHours(24) })
    await extended
    await respond('/api/check-mail', body, status)
    await done
    expect(addresses()[0]?.expiresAt).toBeGreaterThan(Date.now() + 23 * HOUR)
  },
)

test('a server that is away is said in a sentence', async () => {
  const done = refresh()
  await respond('/api/check-mail', { status: 'error', code: 'overloaded' }, 503)
  await expect(done).rejects.toThrow('error_away')
})
