import assert from 'node:assert/strict'
import { test } from 'vitest'
import { scratchMail } from '../../test/scratch.ts'
import { parseHost } from '../core/address.ts'
import { createSession } from './create-session.ts'
import { extendSession } from './extend-session.ts'

const BORN = new Date('2026-03-01T12:00:00Z')
const LATER = new Date('2026-03-01T14:00:00Z')

test('who revives a session a moment too late extends the one that lives', async () => {
  const { store, close } = await scratchMail()
  const name = parseHost('box.test')
  assert.ok(name)
  await store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
  const woken: number[] = []
  const needs = {
    store,
    bus: { wake: (mailbox: number) => void woken.push(mailbox) },
    lives: { sessionSeconds: 3_600, maxSessionSeconds: 7_200 },
    cooldownMs: 86_400_000,
    accountRules: [],
    randomBytes: (count: number) => new Uint8Array(count).fill(7),
  }
  const { session, token } = await createSession({ ...needs, now: () => BORN }, {})

  // All of them look before the first one has written.
  const all = await Promise.all(
    Array.from({ length: 10 }, () =>
      extendSession({ ...needs, now: () => LATER }, token, undefined),
    ),
  )
  await close()
  const [mailbox, ...others] = new Set(all.map(({ id }) => id))
  assert.notEqual(mailbox, session.id)
  assert.deepEqual(others, [])
  assert.deepEqual(woken, Array(9).fill(mailbox))
})
