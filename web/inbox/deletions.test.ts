import { afterEach, expect, onTestFinished, test, vi } from 'vitest'

// Read when the modules are loaded.
vi.stubGlobal('document', { body: { dataset: {} } })
vi.stubGlobal('location', { origin: 'http://localhost' })
vi.stubGlobal('addEventListener', () => {})
vi.stubGlobal('BroadcastChannel', EventTarget)
const { storeAndSend } = await import('./deletions.ts')
const { deletions, messageStore } = await import('./messages.ts')
const { MAX_LISTED } = await import('./message-list.ts')
const { currentMailbox, mailboxes } = await import('../address/mailboxes.ts')
vi.unstubAllGlobals()

const expiresAt = new Date('2099-01-01')
const shown = { email: 'ann@box.test', token: 'of-ann', expiresAt }
const other = { email: 'bob@box.test', token: 'of-bob', expiresAt }
afterEach(() => {
  mailboxes.value = []
  currentMailbox.value = undefined
  vi.unstubAllGlobals()
})

for (const [what, count, polled] of [
  ['older messages of another address are listed after a deletion', MAX_LISTED, ['Bearer of-bob']],
  ['another address that is listed whole is not polled after a deletion', MAX_LISTED - 1, []],
] as const) {
  test(what, async () => {
    mailboxes.value = [shown, other]
    currentMailbox.value = shown
    const messages = Array.from({ length: count }, (_, at) => ({ id: 1_000 - at }))
    await messageStore.poll(other.email, async () => ({ messages }) as never)
    const requested: unknown[] = []
    vi.stubGlobal('fetch', async (url: string, { headers }: RequestInit) => {
      if (url.startsWith('/api/check-mail'))
        requested.push(new Headers(headers).get('authorization'))
      return Response.json({ messages: [] })
    })
    storeAndSend([{ token: other.token, ids: [1_000] }])
    const { promise: isSent, resolve } = Promise.withResolvers<void>()
    onTestFinished(deletions.subscribe((left) => left.length === 0 && resolve()))
    await isSent
    await new Promise((done) => setImmediate(done))
    expect(requested).toStrictEqual(polled)
  })
}
