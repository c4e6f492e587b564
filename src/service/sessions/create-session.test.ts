import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { scratchMail } from '../../../test/scratch.ts'
import { parseHost } from '../../core/address.ts'
import { secretHash } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import type { MailStore } from '../../store/store.ts'
import { createSession } from './create-session.ts'

let store: MailStore
let close: () => Promise<void>
beforeEach(async () => {
  const scratch = await scratchMail()
  store = scratch.store
  close = scratch.close
})
afterEach(() => close())

const addDomain = async (text: string) => {
  const name = parseHost(text)
  assert.ok(name)
  await store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
}

let tokens = 0
/** Names come from the list, the last one for ever; tokens are new each time. */
const deps = (...names: number[]) => ({
  store,
  lives: { sessionSeconds: 3_600, anonymousMaxSeconds: 7_200, maxSessionSeconds: 7_200 },
  cooldownMs: 1_000,
  accountRules: [],
  now: () => new Date('2026-03-01T12:00:00Z'),
  randomBytes(count: number) {
    if (count === 7)
      return new Uint8Array(7).fill((names.length > 1 ? names.shift() : names[0]) ?? 0)
    tokens += 1
    return new Uint8Array(count).fill(count === 32 ? tokens : 0)
  },
})

test('a random name that is taken is drawn again', async () => {
  await addDomain('box.test')
  const first = await createSession(deps(1), {})
  const second = await createSession(deps(1, 1, 2), {})
  assert.notEqual(first.session.address, second.session.address)
})

test('where chance is broken it is a fault of ours, not an endless search', async () => {
  await addDomain('box.test')
  await createSession(deps(1), {})
  await assert.rejects(createSession(deps(1), {}), /were taken/)
})

test('the token is given out and only its hash is kept', async () => {
  await addDomain('box.test')
  const { session, token } = await createSession(deps(3), { ttl: 60 })
  assert.equal((await store.findSession(secretHash(token)))?.id, session.id)
  assert.equal(await store.findSession(token), undefined)
  assert.equal(session.expiresAt.getTime() - session.createdAt.getTime(), 60_000)
})

test('without a domain that takes sessions nobody can have one', async () => {
  const overloaded = (error: unknown) => error instanceof Problem && error.code === 'overloaded'
  await assert.rejects(createSession(deps(1), {}), overloaded)
})
