import { expect, test } from 'vitest'
import type { MailboxId } from '../../mail/rules/session.ts'
import { cachedByMailbox, makeVersions, openVersions } from './mailbox-cache.ts'

const BOX = 7 as MailboxId

function fixture() {
  // The counters are shared with the thread that writes.
  const shared = makeVersions()
  const [writer, reader] = [openVersions(shared), openVersions(shared)]
  const state = { reads: 0, value: 'old', mailbox: BOX as MailboxId | undefined }
  let during = () => {}
  const read = cachedByMailbox(
    (_key: string) => {
      state.reads += 1
      const { value, mailbox } = state
      during()
      return { value, mailbox }
    },
    ({ mailbox }) => mailbox,
    reader,
  )
  return {
    state,
    read: () => read('ann').value,
    commit(value: string) {
      state.value = value
      writer.add(BOX)
    },
    duringRead(run: () => void) {
      during = run
    },
  }
}

test('a row is read again after each change of its mailbox, and not otherwise', () => {
  const { state, read, commit } = fixture()
  for (let count = 0; count < 5; count += 1) expect(read()).toBe('old')
  expect(state.reads).toBe(2)
  commit('new')
  for (let count = 0; count < 5; count += 1) expect(read()).toBe('new')
  expect(state.reads).toBe(3)
})

test('a commit during a read is seen by the next one', () => {
  const { read, commit, duringRead } = fixture()
  for (const known of [false, true]) {
    let next = `committed during a read, ${known ? 'cached' : 'first'}`
    duringRead(() => {
      if (next !== '') commit(next)
      next = ''
    })
    const expected = next
    if (known) commit('changed')
    read()
    expect(read()).toBe(expected)
  }
})

test('what belongs to no mailbox is always read', () => {
  const { state, read } = fixture()
  state.mailbox = undefined
  for (let count = 0; count < 3; count += 1) read()
  expect(state.reads).toBe(3)
})
