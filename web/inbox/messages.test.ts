import { expect, test, vi } from 'vitest'
import type { MessageList, MessageSummary } from '../site/api.ts'

// Read when the modules are loaded.
vi.stubGlobal('document', { body: { dataset: {} } })
vi.stubGlobal('location', { origin: 'http://localhost' })
vi.stubGlobal('addEventListener', () => {})
const { allMessages, messageStore } = await import('./messages.ts')
const { mailboxes } = await import('../address/mailboxes.ts')
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
