import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkOwnDomains } from './jobs.ts'
import { addOwnDomain } from './own-domains.ts'
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
    { domain: 'corp.test', key: keyId, state: 'active', reason: 'record_missing' },
    { domain: 'corp.test', key: keyId, state: 'suspended', reason: 'record_missing' },
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
