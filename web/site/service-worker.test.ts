import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { runInNewContext } from 'node:vm'
import { beforeEach, expect, test } from 'vitest'

const source = readFileSync(new URL('service-worker.ts', import.meta.url), 'utf8')
const SCRIPT = stripTypeScriptTypes(source)
const ORIGIN = 'http://localhost'
const absolute = (what: string | { url: string }) =>
  new URL(typeof what === 'string' ? what : what.url, ORIGIN).href

/** What the server responds, by path; undefined if it cannot be reached. */
let server: Record<string, { text: string; status?: number }> | undefined
/** The cache of the browser, by URL. Survives a new worker. */
let stored: Map<string, Response>
let isStorageRefused: boolean
/** URLs of the tabs that are open. */
let windows: string[]

beforeEach(() => {
  windows = []
  stored = new Map()
  server = {}
  isStorageRefused = false
})

async function fetchFromServer(what: string | { url: string }): Promise<Response> {
  if (!server) throw new TypeError('no connection')
  const { text, status = 200 } = server[new URL(absolute(what)).pathname] ?? {
    text: '',
    status: 404,
  }
  return new Response(text, { status })
}

const cache = {
  match: async (what: string | { url: string }) => stored.get(absolute(what))?.clone(),
  put: async (what: string, response: Response) => void stored.set(absolute(what), response),
  delete: async (what: string) => stored.delete(absolute(what)),
  keys: async () => [...stored.keys()].map((url) => ({ url })),
  async add(what: string) {
    const response = await fetchFromServer(what)
    if (!response.ok) throw new TypeError(`status ${response.status}`)
    await cache.put(what, response)
  },
}

/** A worker that has just been installed. */
function startWorker() {
  const listeners = new Map<string, (event: object) => void>()
  const calls: string[] = []
  const self = {
    addEventListener: (name: string, listener: (event: object) => void) =>
      listeners.set(name, listener),
    skipWaiting: async () => calls.push('skipWaiting'),
    clients: {
      claim: async () => calls.push('claim'),
      matchAll: async () =>
        windows.map((url) => ({ url, focus: async () => calls.push(`focus ${url}`) })),
      openWindow: async (url: string) => calls.push(`open ${url}`),
    },
  }
  const caches = {
    async open() {
      if (isStorageRefused) throw new DOMException('no room', 'QuotaExceededError')
      return cache
    },
  }
  runInNewContext(SCRIPT, {
    ...{ self, caches, fetch: fetchFromServer, location: { origin: ORIGIN } },
    ...{ URL, Response },
  })
  const emit = async (name: string, more: object = {}) => {
    const work: Promise<unknown>[] = []
    listeners.get(name)?.({ ...more, waitUntil: (one: Promise<unknown>) => work.push(one) })
    await Promise.all(work)
  }
  /** Undefined if the worker leaves the request to the browser. */
  const get = async (path: string, { method = 'GET', mode = 'no-cors' } = {}) => {
    let response: Promise<Response> | undefined
    const request = { url: absolute(path), method, mode }
    const respondWith = (one: Promise<Response>) => {
      response = one
    }
    listeners.get('fetch')?.({ request, respondWith })
    return await (await response)?.text()
  }
  const open = () => get('/', { mode: 'navigate' })
  /** The page tells what it has loaded. */
  const tell = (...paths: string[]) => emit('message', { data: paths.map(absolute) })
  return { calls, emit, get, open, tell }
}

const BUILDS = [1, 2].map((build) => ({
  '/': { text: `page ${build}` },
  [`/assets/main-${build}.js`]: { text: `script ${build}` },
  [`/assets/main-${build}.css`]: { text: `style ${build}` },
}))

test('a new worker takes over at once, and what it stores of a new build replaces the old one', async () => {
  server = BUILDS[0]
  const before = startWorker()
  expect(await before.open()).toBe('page 1')
  await before.tell('/assets/main-1.js', '/assets/main-1.css')

  server = BUILDS[1]
  const worker = startWorker()
  await worker.emit('install')
  await worker.emit('activate')
  expect(worker.calls).toEqual(['skipWaiting', 'claim'])
  expect(await worker.get('/assets/main-1.js'), 'for a tab that has the old page').toBe('script 1')
  expect(await worker.open()).toBe('page 2')
  await worker.tell('/assets/main-2.js', '/assets/main-2.css')
  expect([...stored.keys()].map((url) => new URL(url).pathname).sort()).toEqual([
    '/',
    '/assets/main-2.css',
    '/assets/main-2.js',
  ])
  server = undefined
  expect(await worker.open()).toBe('page 2')
  expect(await worker.get('/assets/main-2.css')).toBe('style 2')
})

test('the page is the stored one only if the server does not respond, or a proxy for it', async () => {
  server = BUILDS[0]
  const worker = startWorker()
  await worker.open()
  server = { '/': { text: 'changed' } }
  expect(await worker.open()).toBe('changed')
  server = { '/': { text: 'bad gateway', status: 502 } }
  expect(await worker.open()).toBe('changed')
  server = undefined
  expect(await worker.open()).toBe('changed')
  stored.clear()
  await expect(worker.open()).rejects.toThrow('no connection')
})

test('with a connection, storage that the browser refuses does not matter', async () => {
  server = BUILDS[0]
  isStorageRefused = true
  const worker = startWorker()
  expect(await worker.open()).toBe('page 1')
  expect(await worker.get('/assets/main-1.js')).toBe('script 1')
})

test('other requests are left to the browser', async () => {
  const worker = startWorker()
  expect(await worker.get('/api/check-mail')).toBe(undefined)
  expect(await worker.get('/docs', { mode: 'navigate' })).toBe(undefined)
  expect(await worker.get('/', { method: 'POST', mode: 'navigate' })).toBe(undefined)
  expect(await worker.get('http://other.test/assets/main-1.js')).toBe(undefined)
})

test('a notification leads to the inbox, not to another page of the site', async () => {
  const worker = startWorker()
  const notification = { close: () => worker.calls.push('close') }
  windows = [`${ORIGIN}/docs`, `${ORIGIN}/#x`]
  await worker.emit('notificationclick', { notification })
  windows = [`${ORIGIN}/docs`]
  await worker.emit('notificationclick', { notification })
  expect(worker.calls).toEqual(['close', `focus ${ORIGIN}/#x`, 'close', 'open /'])
})
