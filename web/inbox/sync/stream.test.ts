import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'

/** Connects the tabs of a browser. */
class Channel extends EventTarget {
  static last: Channel | undefined
  constructor() {
    super()
    Channel.last = this
  }
  postMessage(message: object): void {
    passed.push(message)
  }
}
const passed: object[] = []
const page = new EventTarget()

// Read when the modules are loaded.
vi.stubGlobal('document', { body: { dataset: {} } })
vi.stubGlobal('location', { origin: 'http://localhost' })
vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
vi.stubGlobal('BroadcastChannel', Channel)
const { pollUncovered, receiveStream } = await import('./stream.ts')
const { transport } = await import('../messages.ts')
const { currentMailbox, mailboxes } = await import('../../address/mailboxes.ts')
vi.unstubAllGlobals()

const mailbox = { email: 'ann@box.test', token: 't', expiresAt: new Date('2099-01-01') }
/** What the tab that reads the stream says. */
const hear = (data: object) => Channel.last?.dispatchEvent(new MessageEvent('message', { data }))
const open = (...emails: string[]) => ({ kind: 'open', emails, isNew: true })
let requested: string[] = []

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  vi.stubGlobal('fetch', async (url: string) => {
    requested.push(url)
    if (url !== '/api/events') return new Response(null, { status: 304 })
    throw new TypeError('no stream')
  })
  requested = []
  mailboxes.value = [mailbox]
  currentMailbox.value = mailbox
  transport.value = { kind: 'starting' }
})
afterEach(() => {
  mailboxes.value = []
  currentMailbox.value = undefined
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

/** Another tab that has the lock of the stream. */
async function openOtherTab() {
  const [taken, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const lost = navigator.locks
    .request('mayfly stream', () => {
      taken.resolve()
      return closed.promise
    })
    .then(
      () => 'released',
      ({ name }: Error) => name,
    )
  await taken.promise
  // Also if the test fails: the next one waits for the lock.
  onTestFinished(() => closed.resolve())
  return { lost, close: closed.resolve }
}

/** Resolves when this tab waits for the other. `failure`: why it stops to. */
async function follow() {
  const failure = receiveStream().then(
    () => undefined,
    ({ message }: Error) => message,
  )
  for (;;) {
    const { pending = [] } = await navigator.locks.query()
    if (pending.length > 0) return { failure }
    // So that the time limit of the test can end it.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('a tab is live as long as another reads a stream with its address, and then reads one itself', async () => {
  const other = await openOtherTab()
  const { failure } = await follow()
  expect(transport.value.kind).toBe('starting')
  hear(open('bob@box.test', mailbox.email))
  await vi.advanceTimersByTimeAsync(39_000)
  hear({ kind: 'data' })
  await vi.advanceTimersByTimeAsync(39_000)
  expect(transport.value.kind).toBe('live')
  expect(requested).not.toContain('/api/events')
  other.close()
  expect(await failure).toBe('the server could not be reached')
  expect(requested).toContain('/api/events')
  expect(await other.lost).toBe('released')
})

test('a tab whose address the stream does not cover is not live, and polls instead', async () => {
  const other = await openOtherTab()
  const { failure } = await follow()
  hear(open('bob@box.test'))
  expect(transport.value.kind).toBe('starting')
  await vi.advanceTimersByTimeAsync(9_000)
  hear({ kind: 'data' })
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await failure).toBe('the event stream does not cover this address')
  other.close()
  expect(await other.lost).toBe('released')
})

test('the lock is taken from a tab that says nothing, because it was suspended', async () => {
  const other = await openOtherTab()
  const { failure } = await follow()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await failure).toBe('the tab that reads the event stream went silent')
  expect(requested).not.toContain('/api/events')
  await expect(receiveStream()).rejects.toThrow('the server could not be reached')
  expect(await other.lost).toBe('AbortError')
  expect(requested).toContain('/api/events')
  other.close()
})

test('a page that was left and is restored says again which address it shows', async () => {
  const other = await openOtherTab()
  const { failure } = await follow()
  passed.length = 0
  page.dispatchEvent(new Event('pagehide'))
  page.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
  expect(passed).toMatchObject([
    { kind: 'shown', email: '' },
    { kind: 'shown', email: mailbox.email },
  ])
  other.close()
  await failure
})

test('a page that was left and is restored polls all addresses of the stream', async () => {
  const bob = { ...mailbox, email: 'bob@box.test', token: 'u' }
  mailboxes.value = [mailbox, bob]
  const other = await openOtherTab()
  const { failure } = await follow()
  hear(open(mailbox.email, bob.email))
  await vi.advanceTimersByTimeAsync(0)
  const polled: string[] = []
  vi.stubGlobal('fetch', async (_url: string, { headers }: RequestInit) => {
    polled.push(String(new Headers(headers).get('authorization')))
    return new Response(null, { status: 304 })
  })
  page.dispatchEvent(new Event('pagehide'))
  page.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
  await vi.advanceTimersByTimeAsync(0)
  expect(polled.toSorted()).toStrictEqual(['Bearer t', 'Bearer u'])
  other.close()
  await failure
})

test('addresses beyond those of a stream are polled', async () => {
  const names = Array.from({ length: 22 }, (_, index) => `box${index}@box.test`)
  mailboxes.value = names.map((email) => ({ ...mailbox, email, token: email }))
  currentMailbox.value = mailboxes.value[0]
  const polled: string[] = []
  vi.stubGlobal('fetch', async (_url: string, { headers }: RequestInit) => {
    polled.push(String(new Headers(headers).get('authorization')))
    return new Response(null, { status: 304 })
  })
  const other = await openOtherTab()
  await follow()
  hear(open(...names.slice(0, 20)))
  await vi.runAllTimersAsync()
  polled.length = 0
  pollUncovered()
  await vi.runAllTimersAsync()
  expect(polled).toStrictEqual(
    expect.arrayContaining(names.slice(20).map((one) => `Bearer ${one}`)),
  )
  other.close()
})
