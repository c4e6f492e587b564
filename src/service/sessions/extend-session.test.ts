import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { isProblem } from '../../../test/problem.ts'
import { scratchMail } from '../../../test/scratch.ts'
import { parseHost } from '../../core/address.ts'
import { createSession } from './create-session.ts'
import { extendSession } from './extend-session.ts'
import { openGmailScene, rules } from '../testing/gmail.ts'

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
    lives: { sessionSeconds: 3_600, anonymousMaxSeconds: 7_200, maxSessionSeconds: 7_200 },
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

describe('an alias of an account', () => {
  const HOUR = 3_600_000
  const expired = isProblem('session_expired')

  test('is extended while it lives, also when its account is no longer offered', async () => {
    const scene = await openGmailScene(rules('joe@gmail.com'))
    const { token } = await scene.alias('joe@gmail.com', 'shop')
    await scene.store.switchAccount(await scene.idOf('joe@gmail.com'), false)
    scene.pass(HOUR / 2)
    const extended = await extendSession({ ...scene.needs, accountRules: [] }, token, undefined)
    await scene.close()
    assert.equal(extended.expiresAt.getTime(), scene.needs.now().getTime() + HOUR)
  })

  test('comes back while its account is offered, healthy or not', async () => {
    const scene = await openGmailScene(rules('joe@gmail.com'))
    const { session, token } = await scene.alias('joe@gmail.com', 'shop')
    await scene.report('joe@gmail.com', 'failing')
    scene.pass(2 * HOUR)
    const revived = await extendSession(scene.needs, token, undefined)
    await scene.close()
    assert.deepEqual(
      [revived.address, revived.accountId],
      ['joe+shop@gmail.com', session.accountId],
    )
    assert.notEqual(revived.id, session.id)
  })

  test('is over when its account has left the file or is switched off, and comes back with it', async () => {
    const scene = await openGmailScene(rules('joe@gmail.com'), rules('ann@gmail.com'))
    const { token } = await scene.alias('joe@gmail.com', 'shop')
    scene.pass(2 * HOUR)
    const left = { ...scene.needs, accountRules: [rules('ann@gmail.com')] }
    await assert.rejects(extendSession(left, token, undefined), expired)
    const id = await scene.idOf('joe@gmail.com')
    await scene.store.switchAccount(id, false)
    await assert.rejects(extendSession(scene.needs, token, undefined), expired)
    await scene.store.switchAccount(id, true)
    assert.equal((await extendSession(scene.needs, token, undefined)).accountId, id)
    await scene.close()
  })

  test('does not come back when it has cooled down', async () => {
    const scene = await openGmailScene(rules('joe@gmail.com'))
    const { token } = await scene.alias('joe@gmail.com', 'shop')
    scene.pass(HOUR + scene.needs.cooldownMs)
    await assert.rejects(extendSession(scene.needs, token, undefined), expired)
    await scene.close()
  })
})

const DAY = 86_400
const lives = { sessionSeconds: DAY, anonymousMaxSeconds: 7 * DAY, maxSessionSeconds: 30 * DAY }
const after = (seconds: number) => new Date(BORN.getTime() + seconds * 1_000)

test.for([
  ['without a key, from before the cap, keeps its end', undefined, 28, 7, 30],
  ['with a key reaches thirty days', 'key-1', 5, 25, 30],
  ['without a key reaches seven days', undefined, 5, 7, 7],
] as const)('a session %s', async ([name, keyId, onDay, ttlDays, endsOnDay]) => {
  const { store, close } = await scratchMail()
  const host = parseHost('box.test')
  assert.ok(host)
  await store.addDomain({ name: host, sessions: true, reader: false, ttlSeconds: undefined })
  const deps = {
    store,
    bus: { wake: () => {} },
    lives,
    cooldownMs: 86_400_000,
    accountRules: [],
    randomBytes: (count: number) => new Uint8Array(count).fill(7),
  }
  const isOld = name.includes('before')
  const livesThen = isOld ? { ...lives, anonymousMaxSeconds: 30 * DAY } : lives
  const ttl = (isOld ? 30 : 6) * DAY
  const { token } = await createSession(
    { ...deps, lives: livesThen, now: () => BORN },
    { ttl, keyId },
  )
  const now = () => after(onDay * DAY)
  const extended = await extendSession({ ...deps, now }, token, ttlDays * DAY)
  assert.deepEqual(extended.expiresAt, after(endsOnDay * DAY))
  await close()
})
