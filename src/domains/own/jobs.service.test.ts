import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { recordText } from './dns.ts'
import { checkOwnDomains, checkRestoredDomains } from './jobs.ts'
import {
  addOwnDomain,
  deleteOwnDomain,
  recordCheck,
  resumeOwnDomain,
  suspendOwnDomain,
  verifyOwnDomain,
} from './own-domains.ts'
import type { OwnDomain } from './rules.ts'
import { openOwnDomainFixture } from './testing/fixture.ts'

const DAY = 86_400_000

let fixture: Awaited<ReturnType<typeof openOwnDomainFixture>>
let keyId: string
let domain: OwnDomain
beforeEach(async () => {
  fixture = await openOwnDomainFixture()
  keyId = (await fixture.ring.issue({ months: 1 })).id
  domain = await fixture.verified('corp.test', keyId)
  fixture.logged.length = 0
})
afterEach(() => fixture.close())

const check = () => checkOwnDomains(fixture.deps, new AbortController().signal)
const stateOf = async ({ id }: OwnDomain) => {
  const { state, reason } = (await fixture.mail.store.findOwnDomain(id)) ?? {}
  return [state, reason]
}
/** Checked after each of these days. */
async function days(count: number): Promise<void> {
  for (let day = 0; day < count; day += 1) {
    fixture.pass(DAY)
    await check()
  }
}
const asked = () => fixture.dns.asked.filter((query) => query.startsWith('TXT')).length

test('the record is looked for once a day', async () => {
  const before = asked()
  fixture.pass(DAY - 1)
  await check()
  expect(asked()).toBe(before)
  fixture.pass(1)
  await check()
  await check()
  expect(asked()).toBe(before + 1)
  expect(fixture.logged).toEqual([])
})

test('a record missing for seven days suspends the domain, and brings it back when it returns', async () => {
  delete fixture.dns.zone['TXT _mayfly.corp.test']
  await days(7)
  expect(await stateOf(domain)).toEqual(['active', 'record_missing'])
  await days(1)
  expect(await stateOf(domain)).toEqual(['suspended', 'record_missing'])
  expect(await fixture.mail.store.findDomain(domain.name)).toMatchObject({ active: false })
  expect(fixture.logged).toEqual([
    { domain: 'corp.test', keyId, state: 'active', reason: 'record_missing' },
    { domain: 'corp.test', keyId, state: 'suspended', reason: 'record_missing' },
  ])
  fixture.publish(domain)
  await days(1)
  expect(await stateOf(domain)).toEqual(['active', undefined])
  expect(await fixture.mail.store.findDomain(domain.name)).toMatchObject({ active: true })
})

test('name servers that fail for weeks suspend nothing, and are asked again', async () => {
  fixture.dns.zone['TXT _mayfly.corp.test'] = 'SERVFAIL'
  await days(9)
  expect(await stateOf(domain)).toEqual(['active', 'not_checked'])
  const before = asked()
  await check()
  expect(asked()).toBe(before + 1)
})

test('the domain of an expired key takes mail for 30 more days, and again once it is renewed', async () => {
  await days(31)
  expect(await stateOf(domain)).toEqual(['active', 'key_expired'])
  await days(29)
  expect(await stateOf(domain)).toEqual(['active', 'key_expired'])
  await days(1)
  expect(await stateOf(domain)).toEqual(['suspended', 'key_expired'])
})

test('so does that of a revoked key', async () => {
  await fixture.deps.shop.revokeKey(keyId)
  await check()
  expect(await stateOf(domain)).toEqual(['active', 'key_stopped'])
  await days(30)
  expect(await stateOf(domain)).toEqual(['suspended', 'key_stopped'])
})

test('claims that nobody verified are left alone; all others are checked', async () => {
  const others = await Promise.all(
    Array.from({ length: 25 }, (_, at) => fixture.verified(`corp${at}.test`, `key_${at}`)),
  )
  const claim = await addOwnDomain(fixture.deps, { id: 'key_x', maxDomains: 1 }, 'other.test')
  await check()
  expect(await stateOf(claim)).toEqual(['pending', undefined])
  for (const other of others) expect(await stateOf(other)).toEqual(['active', 'key_stopped'])
})

describe('a restored domain', () => {
  const restore = () => fixture.mail.store.distrustOwnDomains(fixture.deps.now())
  const checkRestored = () => checkRestoredDomains(fixture.deps, new AbortController().signal)
  const verify = () =>
    verifyOwnDomain(fixture.deps, domain.id, { keyId, client: undefined }).then(
      ({ state }) => state,
      ({ code }) => code,
    )
  const ZONE = 'TXT _mayfly.corp.test'

  test('takes mail once its record was found, however long it was not', async () => {
    await restore()
    fixture.dns.zone[ZONE] = []
    await days(9)
    await checkRestored()
    expect(await verify()).toBe('record_missing')
    expect(await stateOf(domain)).toEqual(['suspended', 'restored'])
    fixture.publish(domain)
    await checkRestored()
    expect(await stateOf(domain)).toEqual(['active', undefined])
    expect(await fixture.mail.store.findDomain(domain.name)).toMatchObject({ active: true })
  })

  test('is looked for every time until it is found', async () => {
    await restore()
    fixture.dns.zone[ZONE] = 'SERVFAIL'
    const before = asked()
    await checkRestored()
    await checkRestored()
    expect(asked()).toBe(before + 2)
    fixture.publish(domain)
    await checkRestored()
    await checkRestored()
    expect(asked()).toBe(before + 3)
  })

  test('takes none while the record of another key is there, too', async () => {
    await restore()
    const own = recordText(domain.token)
    fixture.dns.zone[ZONE] = [own, recordText('of another key'), 'v=spf1 -all']
    await check()
    await checkRestored()
    expect(await verify()).toBe('domain_held')
    expect(await stateOf(domain)).toEqual(['suspended', 'restored'])
    fixture.dns.zone[ZONE] = [own, 'v=spf1 -all']
    expect(await verify()).toBe('active')
    // From then on, others may publish theirs.
    fixture.dns.zone[ZONE] = [own, recordText('of another key')]
    await days(1)
    expect(await stateOf(domain)).toEqual(['active', undefined])
  })

  test('is taken over by the key whose record is there instead', async () => {
    const other = await addOwnDomain(fixture.deps, { id: 'key_2', maxDomains: 1 }, domain.name)
    await restore()
    fixture.publish(other)
    await checkRestored()
    expect(await stateOf(domain)).toEqual(['suspended', 'restored'])
    await verifyOwnDomain(fixture.deps, other.id, { keyId: 'key_2', client: undefined })
    expect(await stateOf(other)).toEqual(['active', undefined])
    expect(await stateOf(domain)).toEqual(['pending', 'taken_over'])
  })

  test('that the operator had suspended is checked before it is resumed', async () => {
    const { deps } = fixture
    await suspendOwnDomain(deps, domain.id)
    await restore()
    fixture.dns.zone[ZONE] = []
    await checkRestored()
    expect(await stateOf(domain)).toEqual(['suspended', 'suspended_by_operator'])
    await resumeOwnDomain(deps, domain.id)
    expect(await stateOf(domain)).toEqual(['suspended', 'restored'])
    fixture.publish(domain)
    await checkRestored()
    expect(await stateOf(domain)).toEqual(['active', undefined])
  })

  test('that the operator had suspended is resumed at once if it was found meanwhile', async () => {
    await suspendOwnDomain(fixture.deps, domain.id)
    await restore()
    await checkRestored()
    await resumeOwnDomain(fixture.deps, domain.id)
    expect(await stateOf(domain)).toEqual(['active', undefined])
  })
})

test('a check that began before the operator suspended the domain does not resume it', async () => {
  const { deps } = fixture
  const readKey: typeof deps.shop.readKey = async (...args) => {
    await suspendOwnDomain(deps, domain.id)
    return await deps.shop.readKey(...args)
  }
  const found = await deps.ownDomainDns(domain.name)
  await recordCheck({ ...deps, shop: { readKey } }, domain.id, { found })
  expect(await stateOf(domain)).toEqual(['suspended', 'suspended_by_operator'])
})

test('a domain that the operator suspends while its key deletes it is not deleted', async () => {
  const { deps } = fixture
  const findOwnDomain: typeof deps.store.findOwnDomain = async (...args) => {
    const found = await deps.store.findOwnDomain(...args)
    await suspendOwnDomain(deps, domain.id)
    return found
  }
  const deleted = deleteOwnDomain(
    { ...deps, store: { ...deps.store, findOwnDomain } },
    ...([domain.id, keyId] as const),
  )
  await expect(deleted).rejects.toMatchObject({ code: 'not_allowed' })
  expect(await stateOf(domain)).toEqual(['suspended', 'suspended_by_operator'])
})

test('a key that became the holder while another looked for records keeps the domain', async () => {
  const { deps } = fixture
  const [first, second] = await Promise.all(
    ['key_1', 'key_2'].map((id) => addOwnDomain(deps, { id, maxDomains: 1 }, 'moved.test')),
  )
  expect.assert(first && second)
  const verify = ({ id, keyId: by }: OwnDomain, more = {}) =>
    verifyOwnDomain({ ...deps, ...more }, id, { keyId: by, client: undefined })
  fixture.publish(first)
  const slow: typeof deps.ownDomainDns = async (name) => {
    const found = await deps.ownDomainDns(name)
    fixture.publish(second)
    await verify(second)
    return found
  }
  await expect(verify(first, { ownDomainDns: slow })).rejects.toMatchObject({ code: 'domain_held' })
  expect(await stateOf(second)).toEqual(['active', undefined])
})

test('a domain that the operator has suspended is neither deleted by its key nor taken over', async () => {
  const { deps } = fixture
  await suspendOwnDomain(deps, domain.id)
  expect(fixture.logged.at(-1)).toMatchObject({ state: 'suspended', keyId: domain.keyId })
  const deleted = deleteOwnDomain(deps, domain.id, domain.keyId)
  await expect(deleted).rejects.toMatchObject({ code: 'not_allowed' })
  const other = await addOwnDomain(deps, { id: 'key_2', maxDomains: 1 }, domain.name)
  fixture.publish(other)
  const verified = verifyOwnDomain(deps, other.id, { keyId: 'key_2', client: undefined })
  await expect(verified).rejects.toMatchObject({
    ...{ code: 'domain_held', message: 'The operator has suspended corp.test.' },
  })
  expect(await stateOf(domain)).toEqual(['suspended', 'suspended_by_operator'])
})

test('a domain whose holder was checked while another looked for records stays theirs', async () => {
  const { deps } = fixture
  const other = await addOwnDomain(deps, { id: 'key_2', maxDomains: 1 }, domain.name)
  fixture.publish(other)
  const slow: typeof deps.ownDomainDns = async (name) => {
    const found = await deps.ownDomainDns(name)
    // The holder brings its record back.
    fixture.publish(domain)
    fixture.pass(1)
    await verifyOwnDomain(deps, domain.id, { keyId, client: undefined })
    return found
  }
  const caller = { keyId: 'key_2', client: undefined }
  const verified = verifyOwnDomain({ ...deps, ownDomainDns: slow }, other.id, caller)
  await expect(verified).rejects.toMatchObject({ code: 'domain_held' })
  expect(await stateOf(domain)).toEqual(['active', undefined])
})

test('a check of a domain that was taken over meanwhile leaves the claim alone', async () => {
  const { deps } = fixture
  const other = await addOwnDomain(deps, { id: 'key_2', maxDomains: 1 }, domain.name)
  fixture.publish(other)
  await verifyOwnDomain(deps, other.id, { keyId: 'key_2', client: undefined })
  fixture.logged.length = 0
  await recordCheck(deps, domain.id, { found: await deps.ownDomainDns(domain.name) })
  expect(await fixture.mail.store.findOwnDomain(domain.id)).toMatchObject({
    ...{ state: 'pending', reason: 'taken_over', missingSince: undefined },
  })
  expect(fixture.logged).toEqual([])
})
