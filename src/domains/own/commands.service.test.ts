import { Command } from 'commander'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CommandError } from '../../cli/output.ts'
import { addOwnDomainCommands, keyHoldings } from './commands.ts'
import { addOwnDomain } from './own-domains.ts'
import type { OwnDomain } from './rules.ts'
import { openOwnDomainFixture } from './testing/fixture.ts'

let fixture: Awaited<ReturnType<typeof openOwnDomainFixture>>
let keyId: string
let domain: OwnDomain
beforeEach(async () => {
  fixture = await openOwnDomainFixture()
  keyId = (await fixture.ring.issue()).id
  domain = await fixture.verified('corp.test', keyId)
})
afterEach(() => fixture.close())

function context() {
  const { shop, now } = fixture.deps
  const store = { ...fixture.deps.store, waitUntilVisible: async () => {} }
  return {
    withMail: (run: (mail: typeof store) => Promise<void>) => run(store),
    withShop: (run: (keys: typeof shop) => Promise<void>) => run(shop),
    openLog: async () => ({ ...fixture.deps.log, debug() {}, warn() {}, error() {} }),
    now,
  }
}

/** What the command prints. */
async function mayfly(...args: string[]): Promise<string> {
  const lines: string[] = []
  const own = new Command('own-domain').exitOverride()
  addOwnDomainCommands(own, context(), (line) => void lines.push(line))
  await own.parseAsync(args, { from: 'user' })
  return lines.join('\n')
}

test('list shows the domains of all keys, without what proves them', async () => {
  const text = await mayfly('list')
  expect(text).toMatch(/^dom_\w+ +corp\.test +active +0 +0/m)
  expect(text.split('\n')).toEqual(expect.arrayContaining([keyId]))
  const [shown] = JSON.parse(await mayfly('list', '--json'))
  expect(shown).toMatchObject({ id: domain.id, key_id: keyId, domain: 'corp.test' })
  expect(JSON.stringify(shown)).not.toContain(domain.token)
})

test('a suspended domain is resumed, by name or id', async () => {
  expect(await mayfly('suspend', 'Corp.test')).toContain('Suspended corp.test')
  const suspended = await fixture.mail.store.findOwnDomain(domain.id)
  expect(suspended).toMatchObject({ state: 'suspended', reason: 'suspended_by_operator' })
  expect(await mayfly('resume', domain.id)).toBe('Resumed corp.test.')
  expect(await fixture.mail.store.findOwnDomain(domain.id)).toMatchObject({ state: 'active' })
})

test('what a command changes is logged', async () => {
  fixture.logged.length = 0
  for (const action of ['suspend', 'resume', 'remove']) await mayfly(action, 'corp.test')
  const facts = { domain: 'corp.test', keyId }
  expect(fixture.logged).toEqual([
    { ...facts, state: 'suspended', reason: 'suspended_by_operator' },
    { ...facts, state: 'active', reason: undefined },
    facts,
  ])
})

test('resume says why a domain stays suspended', async () => {
  await fixture.deps.shop.revokeKey(keyId)
  await mayfly('suspend', 'corp.test')
  await fixture.mail.store.changeOwnDomain(domain.id, { lapsedSince: new Date(0) })
  expect(await mayfly('resume', 'corp.test')).toBe('corp.test stays suspended: key_stopped.')
})

test('remove deletes a domain', async () => {
  expect(await mayfly('remove', 'corp.test')).toContain('Removed corp.test')
  expect(await mayfly('list')).toBe('No key has a domain of its own yet.')
})

test('a domain that nobody holds is refused', async () => {
  const { id } = await addOwnDomain(fixture.deps, { id: keyId, maxDomains: 2 }, 'new.test')
  await expect(mayfly('suspend', 'new.test')).rejects.toThrow(CommandError)
  await expect(mayfly('suspend', id)).rejects.toThrow('new.test is not verified yet.')
  expect(await fixture.mail.store.findOwnDomain(id)).toMatchObject({ reason: undefined })
})

test('what a revoked key leaves behind is named', async () => {
  const lines = await keyHoldings(context())(keyId)
  expect(lines).toContain('  corp.test')
  expect(lines[0]).toContain('can be read only with the tokens of their addresses')
  expect(await keyHoldings(context())('key_none')).toEqual([])
})
