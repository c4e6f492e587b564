import { expect, onTestFinished, test, vi } from 'vitest'
import type { MessageList, MessageSummary } from '../site/api.ts'

// Read when the modules are loaded.
vi.stubGlobal('document', { body: { dataset: {} } })
vi.stubGlobal('location', { origin: 'http://localhost' })
vi.stubGlobal('addEventListener', () => {})
const { allMessages, markRead, messageStore } = await import('./messages.ts')
const { currentMailbox, mailboxes } = await import('../address/mailboxes.ts')
vi.unstubAllGlobals()

const EMAIL = 'ann@box.test'
const mailbox = { email: EMAIL, token: 't', expiresAt: new Date('2099-01-01') }
mailboxes.value = [mailbox]
const rows = () => allMessages.value.map(({ message }) => message)
const message = (code: string | null) => ({ id: 5, subject: 'Sign in', code }) as MessageSummary

test('of two overlapping polls the one that was sent later decides, whichever is answered first', async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    messageStore.forget(EMAIL)
    const answers = ['older', 'newer'].map(() => Promise.withResolvers<MessageSummary[]>())
    const polls = answers.map(({ promise }) =>
      messageStore.poll(EMAIL, async () => ({ messages: await promise }) as MessageList),
    )
    for (const at of order) {
      answers[at]?.resolve([message(at === 0 ? null : '123456')])
      await polls[at]
    }
    expect(rows().map(({ code }) => code)).toEqual(['123456'])
  }
})

test('what another tab has just read stays read when an address is removed', () => {
  const stored = new Map<string, string>()
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
  })
  const removed = { ...mailbox, email: 'bob@box.test', token: 'u' }
  onTestFinished(() => {
    currentMailbox.value = undefined
    vi.unstubAllGlobals()
  })
  mailboxes.value = [mailbox, removed]
  currentMailbox.value = removed
  markRead(1)
  // Its event has not arrived here yet.
  stored.set('mayfly read', JSON.stringify({ [removed.email]: [1], [EMAIL]: [5] }))
  mailboxes.value = [mailbox]
  expect(JSON.parse(stored.get('mayfly read') ?? '')).toStrictEqual({ [EMAIL]: [5] })
})
