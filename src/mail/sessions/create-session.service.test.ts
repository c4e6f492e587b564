import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { isProblem } from '../../../test/support/problem.ts'
import { openSqliteTestMail } from '../../../test/support/stores.ts'
import { parseHost } from '../../base/address.ts'
import { secretHash } from '../../base/id.ts'
import { Problem } from '../../base/problem.ts'
import {
  type GmailFixture,
  openGmailFixture,
  rules,
  withAliases,
} from '../../gmail/testing/gmail.ts'
import type { MailStore } from '../store.ts'
import { NO_ALIAS_ACCOUNTS } from '../testing/no-alias-accounts.ts'
import { createSession } from './create-session.ts'

let store: MailStore
let close: () => Promise<void>
beforeEach(async () => {
  const scratch = await openSqliteTestMail()
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
/** Names are drawn from the list, the last one repeatedly; every token is new. */
const deps = (...names: number[]) => ({
  store,
  lifetimes: { sessionSeconds: 3_600, anonymousMaxSeconds: 7_200, maxSessionSeconds: 7_200 },
  cooldownMs: 1_000,
  aliasAccounts: NO_ALIAS_ACCOUNTS,
  now: () => new Date('2026-03-01T12:00:00Z'),
  randomBytes(count: number) {
    if (count === 8)
      return new Uint8Array(8).fill((names.length > 1 ? names.shift() : names[0]) ?? 0)
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

test('random names that are all taken are an error, not an endless loop', async () => {
  await addDomain('box.test')
  await createSession(deps(1), {})
  await assert.rejects(createSession(deps(1), {}), /were taken/)
})

test('the token is returned, and only its hash is stored', async () => {
  await addDomain('box.test')
  const { session, token } = await createSession(deps(3), { ttl: 60 })
  assert.equal((await store.findSession(secretHash(token)))?.id, session.id)
  assert.equal(await store.findSession(token), undefined)
  assert.equal(session.expiresAt.getTime() - session.createdAt.getTime(), 60_000)
})

test('while the ledger is unknown, a name cannot be chosen, and the message says until when', async () => {
  await addDomain('box.test')
  const unknownUntil = new Date('2026-03-01T12:00:01Z')
  await store.saveLedger({ unknownUntil, reason: 'lost' })
  const chosen = createSession(deps(3), { prefix: 'ann' })
  await assert.rejects(chosen, isProblem('address_taken'))
  await assert.rejects(chosen, /until 2026-03-01 12:00:01 UTC, omit prefix for a random address/)
  assert.ok(await createSession(deps(3), {}))
  await store.saveLedger({ unknownUntil: undefined, reason: '' })
  assert.ok(await createSession(deps(3), { prefix: 'ann' }))
  await assert.rejects(createSession(deps(3), { prefix: 'ann' }), /"ann" at box.test is taken\.$/)
})

test('without a domain that accepts sessions the request is refused as overloaded', async () => {
  const overloaded = (error: unknown) => error instanceof Problem && error.code === 'overloaded'
  await assert.rejects(createSession(deps(1), {}), overloaded)
})

describe('at a Gmail account', () => {
  let fixture: GmailFixture
  afterEach(() => fixture.close())

  const aliases = async (email: string, count: number) => {
    const created: string[] = []
    for (let n = 0; n < count; n += 1) created.push((await fixture.alias(email)).session.address)
    return created
  }

  describe('without a prefix', () => {
    test('an account with dots gives out each of its dot forms once, then tags', async () => {
      fixture = await openGmailFixture(rules('joey@gmail.com', { dots: true }))
      const created = await aliases('joey@gmail.com', 9)
      assert.deepEqual(created.slice(0, 7).sort(), [
        'j.o.e.y@gmail.com',
        'j.o.ey@gmail.com',
        'j.oe.y@gmail.com',
        'j.oey@gmail.com',
        'jo.e.y@gmail.com',
        'jo.ey@gmail.com',
        'joe.y@gmail.com',
      ])
      for (const alias of created.slice(7))
        assert.match(alias, /^joey\+[a-z]+\.[a-z]+\d{3}@gmail\.com$/)
    })

    test('an account without dots gives out tags', async () => {
      fixture = await openGmailFixture(rules('joey@gmail.com'))
      const created = await aliases('joey@gmail.com', 5)
      for (const alias of created) assert.match(alias, /^joey\+[a-z]+\.[a-z]+\d{3}@gmail\.com$/)
      assert.equal(new Set(created).size, 5)
    })

    test('a dot form is not reassigned during its cool-down', async () => {
      fixture = await openGmailFixture(rules('joe@gmail.com', { dots: true }))
      const first = await aliases('joe@gmail.com', 3)
      fixture.pass(3_600_000)
      for (const alias of await aliases('joe@gmail.com', 3)) assert.match(alias, /^joe\+/)
      fixture.pass(86_400_000)
      assert.deepEqual((await aliases('joe@gmail.com', 3)).sort(), first.sort())
    })

    test('a dot form is not random enough while the ledger is unknown', async () => {
      fixture = await openGmailFixture(rules('joey@gmail.com', { dots: true }))
      const unknownUntil = new Date(fixture.deps.now().getTime() + 1)
      await fixture.store.saveLedger({ unknownUntil, reason: 'lost' })
      assert.match((await fixture.alias('joey@gmail.com')).session.address, /^joey\+/)
      await assert.rejects(fixture.alias('joey@gmail.com', 'shop'), isProblem('address_taken'))
    })

    test('another configured account is never given out as a dot form', async () => {
      fixture = await openGmailFixture(
        rules('joe@gmail.com', { dots: true }),
        rules('j.oe@gmail.com'),
      )
      const created = await aliases('joe@gmail.com', 3)
      assert.deepEqual(created.slice(0, 2).sort(), ['j.o.e@gmail.com', 'jo.e@gmail.com'])
      assert.match(created[2] ?? '', /^joe\+/)
    })

    test('a hundred concurrent requests get a hundred different aliases', async () => {
      fixture = await openGmailFixture(rules('joey@gmail.com', { dots: true }))
      const created = await Promise.all(
        Array.from(
          { length: 100 },
          async () => (await fixture.alias('joey@gmail.com')).session.address,
        ),
      )
      assert.equal(new Set(created).size, 100)
      assert.equal(created.filter((alias) => !alias.includes('+')).length, 7)
    })

    test('random tags that are all taken are an error, not an endless loop', async () => {
      fixture = await openGmailFixture(rules('joe@gmail.com'))
      let tokens = 0
      const deps = withAliases({
        ...fixture.deps,
        randomBytes: (count: number) => {
          tokens += 1
          return new Uint8Array(count).fill(count === 32 ? tokens : 1)
        },
      })
      await createSession(deps, { useGmail: true })
      await assert.rejects(createSession(deps, { useGmail: true }), /were taken/)
    })
  })

  describe('a prefix', () => {
    test('becomes the tag in lower case, even if the account has dots', async () => {
      fixture = await openGmailFixture(rules('jo.e@gmail.com', { dots: true }))
      const { session } = await fixture.alias('jo.e@gmail.com', 'My.Shop')
      assert.equal(session.address, 'jo.e+my.shop@gmail.com')
      assert.equal(session.accountId, await fixture.idOf('jo.e@gmail.com'))
    })

    test('may be as long as the local part of the account permits', async () => {
      fixture = await openGmailFixture(rules('joe@gmail.com'))
      await fixture.alias('joe@gmail.com', 'x'.repeat(60))
      const long = fixture.alias('joe@gmail.com', 'x'.repeat(61))
      await assert.rejects(long, isProblem('invalid_prefix'))
      await assert.rejects(long, /at most 60 characters/)
    })

    test('can be used once per account', async () => {
      fixture = await openGmailFixture(rules('joe@gmail.com'), rules('ann@gmail.com'))
      const tries = await Promise.allSettled(
        Array.from({ length: 20 }, () => fixture.alias('joe@gmail.com', 'shop')),
      )
      assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1)
      const again = fixture.alias('joe@gmail.com', 'shop')
      await assert.rejects(again, isProblem('address_taken'))
      const { session } = await fixture.alias('ann@gmail.com', 'shop')
      assert.equal(session.address, 'ann+shop@gmail.com')
    })
  })

  test('the account with the fewest live aliases is chosen, so that the load is balanced', async () => {
    fixture = await openGmailFixture(rules('joe@gmail.com'), rules('ann@gmail.com'))
    for (let n = 0; n < 4; n += 1) await fixture.alias('joe@gmail.com')
    for (let n = 0; n < 6; n += 1) await createSession(fixture.deps, { gmailAuto: true })
    const counts = (await fixture.store.listAccounts(fixture.deps.now())).map(
      ({ aliases }) => aliases,
    )
    assert.deepEqual(counts, [5, 5])
  })
})
