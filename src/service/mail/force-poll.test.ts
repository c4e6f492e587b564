import assert from 'node:assert/strict'
import { beforeEach, test } from 'vitest'
import { accountTopic, type MailboxId } from '../../core/session.ts'
import { makeRates, openMemoryLimit } from '../../limit/memory.ts'
import { START } from '../testing/gmail.ts'
import { forceLook } from './check-mail.ts'

let now: Date
let woken: MailboxId[]
let deps: Parameters<typeof forceLook>[0]
beforeEach(() => {
  now = START
  woken = []
  deps = {
    bus: { wake: (mailbox) => void woken.push(mailbox) },
    limit: openMemoryLimit(makeRates()),
    now: () => now,
  }
})

test('a look is asked for at the session’s own account', async () => {
  await forceLook(deps, { accountId: 7 })
  assert.deepEqual(woken, [accountTopic(7)])
})

test('of many at once one is passed on, and the next after a few seconds; each account counts by itself', async () => {
  await Promise.all(Array.from({ length: 50 }, () => forceLook(deps, { accountId: 7 })))
  await forceLook(deps, { accountId: 8 })
  assert.deepEqual(woken, [accountTopic(7), accountTopic(8)])
  now = new Date(START.getTime() + 2_999)
  await forceLook(deps, { accountId: 7 })
  assert.equal(woken.length, 2)
  now = new Date(START.getTime() + 3_000)
  await forceLook(deps, { accountId: 7 })
  assert.equal(woken.length, 3)
})

test('a session at a mail domain asks nobody', async () => {
  await forceLook(deps, { accountId: undefined })
  assert.deepEqual(woken, [])
})
