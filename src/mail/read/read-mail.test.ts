import { expect, onTestFinished, test } from 'vitest'
import type { MailboxId } from '../rules/session.ts'
import { openCodeFixture } from '../testing/codes.ts'
import { deleteSeveral } from './read-mail.ts'

test('if a later step of a deletion fails, waiters still learn of the messages already deleted', async () => {
  const { store, token, session, now, send, list, close } = await openCodeFixture()
  onTestFinished(close)
  const id = await send('one')
  const woken: MailboxId[] = []
  const bus = { wake: (mailbox: MailboxId) => woken.push(mailbox) }
  let steps = 0
  const deleteMessages: typeof store.deleteMessages = async (...args) => {
    steps += 1
    if (steps > 1) throw new Error('disk failure')
    return await store.deleteMessages(...args)
  }
  const deps = { store: { ...store, deleteMessages }, bus, now }
  const ids = [id, ...Array.from({ length: 150 }, (_, at) => at + 1)]
  await expect(deleteSeveral(deps, token, { ids })).rejects.toThrow(/disk failure/)
  expect([await list(), woken]).toStrictEqual([[], [session.id]])
})
