import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  type GmailFixture,
  openGmailFixture,
  rules,
  withAliases,
} from '../../../test/kit/gmail/gmail.ts'
import { isProblem } from '../../../test/kit/http/problem.ts'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { type Host, hostOf, parseMailDomain } from '../../base/address.ts'
import { secretHash } from '../../base/id.ts'
import { Problem } from '../../base/problem.ts'
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
  const name = parseMailDomain(text)
  expect.assert(name)
  await store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
}

let tokens = 0
/** Names are drawn from the list, the last one repeatedly; every token is new. */
const deps = (...names: number[]) => ({
  store,
  lifetimes: { sessionSeconds: 3_600, anonymousMaxSeconds: 7_200, maxSessionSeconds: 7_200 },
  cooldownMs: 1_000,
  ownHosts: ['ns1.wild.test'],
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
  expect(first.session.address).not.toBe(second.session.address)
})

test('random names that are all taken are an error, not an endless loop', async () => {
  await addDomain('box.test')
  await createSession(deps(1), {})
  await expect(createSession(deps(1), {})).rejects.toThrow(/were taken/)
})

describe('at a wildcard domain', () => {
  const create = async (request: Parameters<typeof createSession>[1], ...names: number[]) =>
    (await createSession(deps(...names), request)).session.address

  test('the subdomain is the chosen one, in A-labels', async () => {
    await addDomain('*.wild.test')
    const domain = { prefix: 'ann', domainId: 1 }
    expect(await create({ ...domain, subdomain: 'My-Team' })).toBe('ann@my-team.wild.test')
    expect(await create({ ...domain, subdomain: 'bücher' })).toBe('ann@xn--bcher-kva.wild.test')
  })

  test('the subdomain is random if it is not given, and drawn again if the address is taken', async () => {
    await addDomain('*.wild.test')
    const ann = { prefix: 'ann', domain: 'wild.test' }
    const first = await create(ann, 1)
    expect(first).toMatch(/^ann@([b-z][aeiou]){4}\d{3}\.wild\.test$/)
    const second = await create({ ...ann, subdomain: 'Random' }, 1, 2)
    expect(second).toMatch(/^ann@\w+\.wild\.test$/)
    expect(second).not.toBe(first)
    expect(await create({}, 3)).toMatch(/^[a-z.]+\d{3}@[a-z]+\d{3}\.wild\.test$/)
  })

  test('a taken address is refused with its host', async () => {
    await addDomain('*.wild.test')
    const request = { prefix: 'ann', domainId: 1, subdomain: 'team' }
    await create(request)
    await expect(create(request)).rejects.toThrow('prefix: "ann" at team.wild.test is taken.')
    expect(await create({ ...request, subdomain: 'other' })).toBe('ann@other.wild.test')
  })

  test('a domain of the same name is used unless a subdomain is given', async () => {
    for (const name of ['*.wild.test', 'wild.test']) await addDomain(name)
    const host = async (request: { subdomain?: string }) => {
      const address = await create({ domain: 'wild.test', ...request }, 4)
      return hostOf(address)
    }
    expect([await host({}), await host({ subdomain: 'x' })]).toEqual(['wild.test', 'x.wild.test'])
  })

  test('a subdomain alone chooses a wildcard domain', async () => {
    for (const name of ['box.test', '*.wild.test', 'pool.test']) await addDomain(name)
    expect(await create({ prefix: 'ann', subdomain: 'x' })).toBe('ann@x.wild.test')
  })

  test('a domain that is named itself wins over the wildcard, whatever it offers', async () => {
    for (const name of ['*.wild.test', 'shop.wild.test', 'off.wild.test', 'gone.wild.test'])
      await addDomain(name)
    await store.changeDomain('off.wild.test' as Host, { sessions: false })
    await store.changeDomain('gone.wild.test' as Host, { removed: true })
    const at = (subdomain: string) => create({ prefix: 'ann', domain: 'wild.test', subdomain })
    for (const named of ['shop', 'OFF']) {
      await expect(at(named)).rejects.toSatisfy(isProblem('reserved_subdomain'))
    }
    expect(await at('gone')).toBe('ann@gone.wild.test')
  })

  for (const [subdomain, code] of [
    ['', 'invalid_subdomain'],
    ['a.b', 'invalid_subdomain'],
    ['a。b', 'invalid_subdomain'],
    ['a_b', 'invalid_subdomain'],
    ['-a', 'invalid_subdomain'],
    ['a-', 'invalid_subdomain'],
    ['a b', 'invalid_subdomain'],
    ['*', 'invalid_subdomain'],
    ['a@b', 'invalid_subdomain'],
    ['a'.repeat(64), 'invalid_subdomain'],
    ['www', 'reserved_subdomain'],
    ['MTA-STS', 'reserved_subdomain'],
    ['autodiscover', 'reserved_subdomain'],
    ['mx', 'reserved_subdomain'],
    ['ns1', 'reserved_subdomain'],
  ] as const) {
    test(`subdomain ${JSON.stringify(subdomain)} is refused: ${code}`, async () => {
      await addDomain('*.wild.test')
      const refused = create({ subdomain })
      await expect(refused).rejects.toSatisfy(isProblem(code))
      await expect(refused).rejects.toThrow(/^subdomain: /)
    })
  }

  test('a subdomain is refused at a domain without wildcard, or if there is none', async () => {
    await addDomain('box.test')
    for (const request of [{ domainId: 1 }, { domain: 'box.test' }]) {
      const refused = create({ ...request, subdomain: 'x' })
      await expect(refused).rejects.toSatisfy(isProblem('invalid_parameter'))
      await expect(refused).rejects.toThrow('subdomain: box.test has no subdomains.')
    }
    await expect(create({ subdomain: 'x' })).rejects.toSatisfy(isProblem('unknown_domain'))
  })
})

test('the token is returned, and only its hash is stored', async () => {
  await addDomain('box.test')
  const { session, token } = await createSession(deps(3), { ttl: 60 })
  expect((await store.findSession(secretHash(token)))?.id).toBe(session.id)
  expect(await store.findSession(token)).toBeUndefined()
  expect(session.expiresAt.getTime() - session.createdAt.getTime()).toBe(60_000)
})

test('while the ledger is unknown, a name cannot be chosen, and the message says until when', async () => {
  await addDomain('box.test')
  const unknownUntil = new Date('2026-03-01T12:00:01Z')
  await store.saveLedger({ unknownUntil, reason: 'lost' })
  const chosen = createSession(deps(3), { prefix: 'ann' })
  await expect(chosen).rejects.toSatisfy(isProblem('address_taken'))
  await expect(chosen).rejects.toThrow(
    /until 2026-03-01 12:00:01 UTC, omit prefix for a random address/,
  )
  expect(await createSession(deps(3), {})).toBeTruthy()
  await store.saveLedger({ unknownUntil: undefined, reason: '' })
  expect(await createSession(deps(3), { prefix: 'ann' })).toBeTruthy()
  await expect(createSession(deps(3), { prefix: 'ann' })).rejects.toThrow(
    /"ann" at box.test is taken\.$/,
  )
})

test('without a domain that accepts sessions the request is refused as overloaded', async () => {
  const overloaded = (error: unknown) => error instanceof Problem && error.code === 'overloaded'
  await expect(createSession(deps(1), {})).rejects.toSatisfy(overloaded)
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
      expect(created.slice(0, 7).sort()).toStrictEqual([
        'j.o.e.y@gmail.com',
        'j.o.ey@gmail.com',
        'j.oe.y@gmail.com',
        'j.oey@gmail.com',
        'jo.e.y@gmail.com',
        'jo.ey@gmail.com',
        'joe.y@gmail.com',
      ])
      for (const alias of created.slice(7))
        expect(alias).toMatch(/^joey\+[a-z]+\.[a-z]+\d{3}@gmail\.com$/)
    })

    test('an account without dots gives out tags', async () => {
      fixture = await openGmailFixture(rules('joey@gmail.com'))
      const created = await aliases('joey@gmail.com', 5)
      for (const alias of created) expect(alias).toMatch(/^joey\+[a-z]+\.[a-z]+\d{3}@gmail\.com$/)
      expect(new Set(created).size).toBe(5)
    })

    test('a dot form is not reassigned during its cool-down', async () => {
      fixture = await openGmailFixture(rules('joe@gmail.com', { dots: true }))
      const first = await aliases('joe@gmail.com', 3)
      fixture.pass(3_600_000)
      for (const alias of await aliases('joe@gmail.com', 3)) expect(alias).toMatch(/^joe\+/)
      fixture.pass(86_400_000)
      expect((await aliases('joe@gmail.com', 3)).sort()).toStrictEqual(first.sort())
    })

    test('a dot form is not random enough while the ledger is unknown', async () => {
      fixture = await openGmailFixture(rules('joey@gmail.com', { dots: true }))
      const unknownUntil = new Date(fixture.deps.now().getTime() + 1)
      await fixture.store.saveLedger({ unknownUntil, reason: 'lost' })
      expect((await fixture.alias('joey@gmail.com')).session.address).toMatch(/^joey\+/)
      await expect(fixture.alias('joey@gmail.com', 'shop')).rejects.toSatisfy(
        isProblem('address_taken'),
      )
    })

    test('another configured account is never given out as a dot form', async () => {
      fixture = await openGmailFixture(
        rules('joe@gmail.com', { dots: true }),
        rules('j.oe@gmail.com'),
      )
      const created = await aliases('joe@gmail.com', 3)
      expect(created.slice(0, 2).sort()).toStrictEqual(['j.o.e@gmail.com', 'jo.e@gmail.com'])
      expect(created[2] ?? '').toMatch(/^joe\+/)
    })

    test('a hundred concurrent requests get a hundred different aliases', async () => {
      fixture = await openGmailFixture(rules('joey@gmail.com', { dots: true }))
      const created = await Promise.all(
        Array.from(
          { length: 100 },
          async () => (await fixture.alias('joey@gmail.com')).session.address,
        ),
      )
      expect(new Set(created).size).toBe(100)
      expect(created.filter((alias) => !alias.includes('+')).length).toBe(7)
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
      await expect(createSession(deps, { useGmail: true })).rejects.toThrow(/were taken/)
    })
  })

  describe('a prefix', () => {
    test('becomes the tag in lower case, even if the account has dots', async () => {
      fixture = await openGmailFixture(rules('jo.e@gmail.com', { dots: true }))
      const { session } = await fixture.alias('jo.e@gmail.com', 'My.Shop')
      expect(session.address).toBe('jo.e+my.shop@gmail.com')
      expect(session.accountId).toBe(await fixture.idOf('jo.e@gmail.com'))
    })

    test('may be as long as the local part of the account permits', async () => {
      fixture = await openGmailFixture(rules('joe@gmail.com'))
      await fixture.alias('joe@gmail.com', 'x'.repeat(60))
      const long = fixture.alias('joe@gmail.com', 'x'.repeat(61))
      await expect(long).rejects.toSatisfy(isProblem('invalid_prefix'))
      await expect(long).rejects.toThrow(/at most 60 characters/)
    })

    test('can be used once per account', async () => {
      fixture = await openGmailFixture(rules('joe@gmail.com'), rules('ann@gmail.com'))
      const tries = await Promise.allSettled(
        Array.from({ length: 20 }, () => fixture.alias('joe@gmail.com', 'shop')),
      )
      expect(tries.filter(({ status }) => status === 'fulfilled').length).toBe(1)
      const again = fixture.alias('joe@gmail.com', 'shop')
      await expect(again).rejects.toSatisfy(isProblem('address_taken'))
      const { session } = await fixture.alias('ann@gmail.com', 'shop')
      expect(session.address).toBe('ann+shop@gmail.com')
    })
  })

  test('the account with the fewest live aliases is chosen, so that the load is balanced', async () => {
    fixture = await openGmailFixture(rules('joe@gmail.com'), rules('ann@gmail.com'))
    for (let n = 0; n < 4; n += 1) await fixture.alias('joe@gmail.com')
    for (let n = 0; n < 6; n += 1) await createSession(fixture.deps, { gmailAuto: true })
    const counts = (await fixture.store.listAccounts(fixture.deps.now())).map(
      ({ aliases }) => aliases,
    )
    expect(counts).toStrictEqual([5, 5])
  })
})
