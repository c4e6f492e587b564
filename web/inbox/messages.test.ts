import { expect, test, vi } from 'vitest'
import type { MessageSummary } from '../site/api.ts'

// Read when the modules are loaded.
vi.stubGlobal('document', { body: { dataset: {} } })
vi.stubGlobal('location', { origin: 'http://localhost' })
vi.stubGlobal('addEventListener', () => {})
const { messageStore, messages } = await import('./messages.ts')
vi.unstubAllGlobals()

const NEVER = new AbortController().signal
const message = (code: string | null) => ({ id: 5, subject: 'Sign in', code }) as MessageSummary

test('of two overlapping polls the one that was sent later decides, whichever is answered first', async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    messageStore.reset()
    const answers = ['older', 'newer'].map(() => Promise.withResolvers<MessageSummary[]>())
    const polls = answers.map(({ promise }) =>
      messageStore.poll(async () => ({ messages: await promise }), NEVER),
    )
    for (const at of order) {
      answers[at]?.resolve([message(at === 0 ? null : '123456')])
      await polls[at]
    }
    expect(messages.value.map(({ code }) => code)).toEqual(['123456'])
  }
})
