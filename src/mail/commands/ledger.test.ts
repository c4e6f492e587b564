import { Command } from 'commander'
import { expect, test } from 'vitest'
import { NOON, operatorFixture } from '../../../test/kit/app/operator.ts'
import type { Host } from '../../base/address.ts'
import { addLedgerCommands } from './ledger.ts'

const operator = operatorFixture()
const LIFETIMES = { sessionSeconds: 60, anonymousMaxSeconds: 60, maxSessionSeconds: 86_400 }

/** What the command has printed, and the error that it ended with. */
async function ledger(...args: string[]): Promise<{ lines: string[]; error: string | undefined }> {
  const lines: string[] = []
  const command = new Command('ledger').exitOverride()
  const context: Parameters<typeof addLedgerCommands>[1] = {
    config: () => ({ sessions: { ...LIFETIMES, cooldownMs: 0 } }),
    withMail: (operation) => operation(operator.store),
    now: () => NOON,
  }
  addLedgerCommands(command, context, (line) => void lines.push(line))
  const error = await command.parseAsync(args, { from: 'user' }).then(
    () => undefined,
    (error: Error) => error.message,
  )
  return { lines, error }
}
const unknownUntil = async () => (await operator.store.readLedger())?.unknownUntil

test('a complete ledger needs no trust', async () => {
  const complete = { lines: ['The ledger of addresses is complete.'], error: undefined }
  expect([await ledger('show'), await ledger('trust')]).toEqual([complete, complete])
})

test('distrust refuses unknown addresses until every lost session would have expired', async () => {
  const { lines } = await ledger('distrust')
  expect(lines).toEqual([expect.stringMatching(/^Until 2026-03-02 12:00:00 UTC, mail for/)])
  expect(await unknownUntil()).toEqual(new Date('2026-03-02T12:00:00Z'))
  expect((await ledger('show')).lines).toEqual([
    expect.stringMatching(/^The ledger of addresses is incomplete \(the operator said so\): until/),
    expect.stringContaining('mayfly ledger trust'),
  ])
})

test('distrust defers mail to domains of keys until they are checked', async () => {
  const name = 'own.test' as Host
  const claim = { id: 'dom_1', keyId: 'k1', name, token: 't', createdAt: NOON }
  await operator.store.addOwnDomain(claim, 1)
  await operator.store.activateOwnDomain({ id: 'dom_1', keyId: 'k1', now: NOON })
  const { lines } = await ledger('distrust')
  expect(lines.slice(1)).toEqual([
    'Domains of key holders take mail again once their records have been found.',
    'Permanent addresses need new tokens: POST /sessions/roll-token.',
  ])
  expect(await operator.store.isRestoredDomain(name)).toBe(true)
})

test('distrust does not end a longer time', async () => {
  const later = new Date('2026-05-01T12:00:00Z')
  await operator.store.saveLedger({ unknownUntil: later, reason: 'lost' })
  const { lines } = await ledger('distrust')
  expect(lines).toEqual([expect.stringMatching(/^Until 2026-05-01 12:00:00 UTC, mail for/)])
  expect(await unknownUntil()).toEqual(later)
})

test('trust says what it risks, and needs a yes', async () => {
  await ledger('distrust')
  const refused = await ledger('trust')
  expect(refused.lines.join(' ')).toMatch(/goes to the pool, where every key.*somebody else can/)
  expect(refused.error).toMatch(/Nothing was changed.*--accept-risk/)
  expect(await unknownUntil()).toBeDefined()
  expect((await ledger('trust', '--accept-risk')).error).toBeUndefined()
  expect(await unknownUntil()).toBeUndefined()
})
