import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  address,
  at,
  COOLDOWN,
  domainName,
  type Fixture,
  newMail,
  type OpenMailStore,
  openFixture,
} from '../../../test/kit/store/fixture.ts'
import { OPERATOR, POOL } from '../../mail/rules/session.ts'

/** `*.wild.test` (sessions only) and `*.deep.pool.test` (a reader domain), beside the domains of the fixture. */
export function wildcardsContract(open: () => Promise<OpenMailStore>): void {
  let fixture: Fixture

  const add = (name: string, reader = false) =>
    fixture.store.addDomain({
      name: domainName(name),
      sessions: true,
      reader,
      ttlSeconds: undefined,
    })
  const domainFor = async (text: string) => {
    const { domain } = await fixture.store.findRecipient(address(text))
    return domain && [domain.name, domain.wildcard]
  }
  const boxesOf = async (...to: string[]) => {
    const result = await fixture.send(to)
    return result.outcome === 'stored'
      ? result.recipients.map(({ mailbox }) => mailbox)
      : result.outcome
  }

  beforeEach(async () => {
    fixture = await openFixture(await open())
    await add('*.wild.test')
    await add('*.deep.pool.test', true)
  })
  afterEach(() => fixture.close())

  test('a wildcard and the domain below it are two domains', async () => {
    expect(await add('wild.test')).toMatchObject({ name: 'wild.test', wildcard: false })
    expect(await add('*.wild.test')).toBeUndefined()
    await fixture.store.changeDomain(domainName('*.wild.test'), { active: false })
    const domains = (await fixture.other.listDomains()).filter(({ name }) => name === 'wild.test')
    expect(domains.map(({ wildcard, active }) => [wildcard, active])).toStrictEqual([
      [true, false],
      [false, true],
    ])
  })

  test('contain the hosts exactly one label below them', async () => {
    for (const [host, expected] of [
      ['a.wild.test', ['wild.test', true]],
      ['b.wild.test', ['wild.test', true]],
      ['wild.test', undefined],
      ['a.b.wild.test', undefined],
      ['awild.test', undefined],
      ['a.test', undefined],
      ['box.test', ['box.test', false]],
      ['x.box.test', undefined],
    ] as const) {
      expect(await domainFor(`ann@${host}`), host).toStrictEqual(expected)
    }
  })

  test('a domain that is named itself wins, until it is removed', async () => {
    await add('own.deep.pool.test')
    expect(await domainFor('ann@own.deep.pool.test')).toStrictEqual(['own.deep.pool.test', false])
    expect(await boxesOf('ann@own.deep.pool.test')).toBe('no_recipients')
    await fixture.store.changeDomain(domainName('own.deep.pool.test'), { removed: true })
    expect(await boxesOf('ann@own.deep.pool.test')).toStrictEqual([POOL])
  })

  test('the same name at two subdomains is two addresses', async () => {
    const a = await fixture.session('ann@a.wild.test')
    const b = await fixture.session('ann@b.wild.test')
    expect(await boxesOf('ann@b.wild.test', 'ann@a.wild.test')).toStrictEqual([b.id, a.id])
    await fixture.store.endSession(a.id, at(1))
    expect(await fixture.take('ann@a.wild.test', 'other', at(2))).toBeUndefined()
    expect(await fixture.take('ann@c.wild.test', 'third', at(2))).toBeTruthy()
    expect(await boxesOf('ann@a.wild.test', 'ann@b.wild.test')).toStrictEqual([b.id])
  })

  test('the ledger keeps an address of one subdomain out of the pool, not those of others', async () => {
    const { id } = await fixture.session('ann@a.deep.pool.test')
    await fixture.store.endSession(id, at(1))
    await fixture.sweepAll(at(COOLDOWN + 2))
    const receivedAt = at(COOLDOWN + 2)
    const send = (host: string) => fixture.send([`ann@${host}`, `ann+x@${host}`], { receivedAt })
    expect(await send('a.deep.pool.test')).toStrictEqual({ outcome: 'no_recipients' })
    expect((await send('b.deep.pool.test')).outcome).toBe('stored')
  })

  test('take part in the pool if they are reader domains; postmaster and abuse are the operator’s', async () => {
    expect(await boxesOf('any@x.deep.pool.test', 'any@pool.test')).toStrictEqual([POOL, POOL])
    expect(await boxesOf('any@x.wild.test')).toBe('no_recipients')
    expect(await boxesOf('abuse@x.wild.test', 'postmaster@y.deep.pool.test')).toStrictEqual([
      OPERATOR,
      OPERATOR,
    ])
  })

  test('a session outlives the removal of its wildcard; nothing else is accepted there', async () => {
    const { id } = await fixture.session('ann@a.wild.test')
    const recipients = await fixture.accepted(['ann@a.wild.test', 'abuse@a.wild.test'])
    await fixture.store.changeDomain(domainName('*.wild.test'), { removed: true })
    expect(await fixture.store.addMail(newMail(recipients))).toMatchObject({
      recipients: [{ mailbox: id }],
    })
  })
}
