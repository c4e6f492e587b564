import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import type { Sender } from './browser.ts'
import type { Address } from './store.ts'

// Who may ask for what, and what follows from events of the browser.

type Listener = (...args: unknown[]) => unknown
const listeners = new Map<string, Listener>()
const on = (name: string) => ({
  addListener: (listener: Listener) => void listeners.set(name, listener),
})
const stored: Record<string, unknown> = {}
const area = {
  get: () => Promise.resolve(structuredClone(stored)),
  set: (values: object) => Promise.resolve(void Object.assign(stored, values)),
}
const nothing = () => Promise.resolve()
/** What happened, in order. */
const seen: unknown[] = []
vi.stubGlobal('chrome', {
  action: { setBadgeText: nothing, setBadgeBackgroundColor: nothing },
  alarms: { create: nothing, clear: nothing, onAlarm: on('alarm') },
  commands: { onCommand: on('command') },
  contextMenus: { onClicked: on('menu') },
  i18n: { getMessage: (name: string) => name },
  permissions: {
    contains: () => Promise.resolve(true),
    getAll: () => Promise.resolve({ origins: [] }),
    onAdded: on('added'),
    onRemoved: on('removed'),
  },
  runtime: {
    getURL: (path: string) => `chrome-extension://mayfly/${path}`,
    onInstalled: on('installed'),
    onStartup: on('startup'),
    onMessage: on('message'),
  },
  scripting: {
    executeScript: nothing,
    getRegisteredContentScripts: () => Promise.resolve([]),
  },
  storage: { local: area, session: area, onChanged: on('changed') },
  tabs: {
    create: ({ url }: { url: string }) => Promise.resolve(seen.push(`open ${url}`)),
    get: (id: number) => Promise.resolve({ id, url: 'https://evil.test/' }),
    // Without access to a tab, its URL is not known.
    query: () => Promise.resolve([{ id: 1 }]),
    sendMessage: (tab: number, message: object, { frameId }: { frameId: number }) =>
      Promise.resolve(seen.push({ ...message, tab, frameId }) < 0),
  },
})
// Another file may have loaded them with its own browser.
vi.resetModules()
await import('./background.ts')
afterAll(() => vi.unstubAllGlobals())

const address: Address = {
  id: 'a',
  server: 'http://mail.test',
  email: 'a@mail.test',
  token: 'secret',
  site: 'shop.test',
  expiresAt: 0,
  isPermanent: true,
  lastId: 8,
  latest: {
    id: 8,
    code: '1234',
    link: { url: 'https://shop.test/confirm?secret', host: 'shop.test' },
    sender: 'shop.test',
    badge: 'proven',
    at: Date.now(),
    isUsed: false,
  },
}

beforeEach(() => {
  seen.length = 0
  const server = { url: 'http://mail.test', key: 'secret key' }
  Object.assign(stored, { servers: [server], addresses: [structuredClone(address)], watches: [] })
})

const request = (message: object, sender: Sender): Promise<unknown> =>
  new Promise((respond) => listeners.get('message')?.(message, sender, respond))

const PAGE = { url: 'https://www.shop.test/sign-up', frameId: 0 }
const OFFERED = { id: 'a', messageId: 8 }

test('a page is offered the code of its site, without the token and the URL of the link', async () => {
  const state = await request({ type: 'page-state' }, PAGE)
  expect(JSON.stringify(state)).toContain('1234')
  expect(JSON.stringify(state)).not.toContain('secret')
  await request({ type: 'open-link', ...OFFERED }, PAGE)
  expect(seen).toContain('open https://shop.test/confirm?secret')
})

test('an unused code of an older address of the site is offered, too', async () => {
  stored['addresses'] = [{ ...address, id: 'b', latest: undefined }, structuredClone(address)]
  expect(JSON.stringify(await request({ type: 'page-state' }, PAGE))).toContain('1234')
})

test.each([
  ...['https://evil.test/', 'https://accounts.shop.test/', 'http://shop.test/'],
  'https://shop.test:8443/',
])('a page at %s gets, uses and opens nothing of it', async (url) => {
  const sender = { url, frameId: 0 }
  const nothingOffered = { value: { isAllowed: true, offer: null } }
  expect(await request({ type: 'page-state' }, sender)).toEqual(nothingOffered)
  for (const type of ['used', 'open-link']) {
    expect(await request({ type, ...OFFERED }, sender)).toEqual({ error: 'error_expired' })
  }
  expect(seen).toEqual([])
  expect(stored['addresses']).toEqual([address])
})

test.each([
  ['a frame', { ...PAGE, frameId: 1 }],
  ['a page without a site', { ...PAGE, url: 'about:blank' }],
  ['another extension', { ...PAGE, url: 'chrome-extension://other/popup.html' }],
  ['nobody', {}],
])('%s may ask for nothing', async (_, sender) => {
  for (const type of ['page-state', 'new-address', 'used', 'open-link', 'servers']) {
    expect(await request({ type, ...OFFERED }, sender)).toEqual({ error: 'error_no_access' })
  }
  expect(seen).toEqual([])
})

test.each([
  ...['state', 'servers', 'open', 'fill-code', 'delete', 'extend', 'save-server', 'remove-server'],
  ...['constructor', 'toString', '__proto__'],
])('a page may not ask for "%s", as the popup and the options do', async (type) => {
  expect(await request({ type, ...OFFERED, tabId: 1 }, PAGE)).toEqual({ error: 'error_no_access' })
  expect(seen).toEqual([])
})

const OWN_PAGE = { url: 'chrome-extension://mayfly/popup.html' }

test('the popup and the options may', async () => {
  expect(await request({ type: 'servers' }, OWN_PAGE)).toEqual({ value: stored['servers'] })
})

test('the popup fills in no code where the tab is at another site by then', async () => {
  const fill = { type: 'fill-code', ...OFFERED, tabId: 1 }
  expect(await request(fill, OWN_PAGE)).toEqual({ error: 'error_expired' })
  expect(seen).toEqual([])
})

test.each([
  ['access is taken back', 'removed', {}],
  ['the servers change', 'changed', { servers: {} }],
])('when %s, every page is told', async (_, event, change) => {
  listeners.get(event)?.(change)
  await vi.waitUntil(() => seen.length > 0)
  expect(seen).toEqual([{ type: 'reload-state', tab: 1, frameId: 0 }])
})

const TAB = { id: 1, url: PAGE.url }

test.each([
  ['menu', [{}, TAB], { site: 'shop.test', isHere: true, frameId: 0 }],
  [
    'menu',
    [{ frameId: 3, frameUrl: 'https://forms.test/' }, TAB],
    { site: 'forms.test', isHere: true, frameId: 3 },
  ],
  ['command', ['fill-address', TAB], { site: 'shop.test', isHere: false, frameId: 0 }],
] as const)('the %s looks for a field: %j', async (name, args, find) => {
  listeners.get(name)?.(...args)
  await vi.waitUntil(() => seen.length > 0)
  expect(seen[0]).toEqual({ type: 'find', tab: 1, ...find })
})
