import { execSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  address,
  COOLDOWN,
  HOUR,
  host,
  newSession,
  START,
} from '../../../test/kit/store/fixture.ts'
import { openPostgres, type Postgres, postgresProgram } from '../../../test/kit/store/postgres.ts'
import { MAIL_OPTIONS } from '../../../test/kit/store/postgres-stores.ts'
import { issueIn } from '../../../test/kit/store/shop-folder.ts'
import { tempFolder } from '../../../test/kit/store/stores.ts'
import { ledgerKey, openLedgerHmac } from '../../mail/rules/ledger.ts'
import { decideRecipient } from '../../mail/rules/recipient.ts'
import { PERMANENT } from '../../mail/rules/session.ts'
import { openPostgresLedger } from './ledger.ts'
import { openPostgresMail } from './mail-store.ts'
import { openPostgresShop } from './shop-store.ts'

const DOCS = readFileSync(new URL('../../../docs/scaling.md', import.meta.url), 'utf8')
const commandOf = (start: string) =>
  DOCS.split('\n').find((line) => line.startsWith(`${start} `)) ?? ''

let postgres: Postgres
let folder: ReturnType<typeof tempFolder>
beforeAll(async () => {
  postgres = await openPostgres()
  folder = tempFolder()
})
afterAll(async () => {
  folder.remove()
  await postgres.close()
})

/** Runs a command of the document, which begins like this, on this database. */
function run(start: 'pg_dump' | 'psql' | '(echo', database: string): void {
  const command = commandOf(start)
    .replace(/\b(?:pg_dump|psql)\b/, (name) => postgresProgram(name as 'psql'))
    .replace(/ mayfly(?=[ ;]|$)/, ` ${postgres.urlOf(database)}`)
    .replace('mayfly.sql', join(folder.path, 'mayfly.sql'))
  execSync(command, { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** Both stores, as a service or a command opens them; the tables are created. */
async function open(database: string, ledgerKey: Uint8Array = MAIL_OPTIONS.ledgerKey) {
  const url = postgres.urlOf(database)
  const shop = await openPostgresShop({ url })
  const mail = await openPostgresMail({ ...MAIL_OPTIONS, url, ledgerKey })
  const close = () => Promise.all([shop.close(), mail.close()])
  return { shop, mail, close }
}

/** As a service starts. */
async function startLedger(database: string, { shop }: Awaited<ReturnType<typeof open>>) {
  const ledger = await openPostgresLedger(postgres.urlOf(database))
  const lifetimes = { sessionSeconds: 1, anonymousMaxSeconds: 1, maxSessionSeconds: 1 }
  const start = { now: START, lifetimes, cooldownMs: COOLDOWN }
  await ledger.beginLedger({ ...start, isNew: !(await shop.hasServed()) })
  const key = ledgerKey(await shop.installationSecret(randomBytes(32)))
  const hmac = openLedgerHmac(key)
  const state = await ledger.prepareLedger({ ...start, hmac, poolOff: false })
  await ledger.close()
  return { state, key }
}

test('the dump of docs/scaling.md brings back what it names, and the ledger is unknown', async () => {
  const [before, after] = [await postgres.database(), await postgres.database()]
  const first = await open(before)
  const { key, state } = await startLedger(before, first)
  expect(state.unknownUntil).toBeUndefined()
  const keyId = await issueIn(first.shop)
  await first.close()
  const filled = await open(before, key)
  const domain = { sessions: true, reader: true, ttlSeconds: undefined }
  await filled.mail.addDomain({ ...domain, name: host('pool.test') })
  const entries = ['bad.test'] as never[]
  await filled.mail.addBlocks({ entries, note: '', expiresAt: undefined, now: START })
  const session = newSession('ann@pool.test', { tokenHash: 't', createdAt: START, lifeMs: HOUR })
  expect(await filled.mail.createSession(session)).toBeDefined()
  const alias = newSession('alias@pool.test', { tokenHash: 'a', createdAt: START, lifeMs: HOUR })
  expect(await filled.mail.createSession({ ...alias, isKept: true })).toBeDefined()
  const own = { id: 'dom_1', keyId, name: host('own.test'), token: 't', createdAt: START }
  await filled.mail.addOwnDomain(own, 1)
  await filled.mail.activateOwnDomain({ id: own.id, keyId, now: START })
  const permanent = newSession('bob@own.test', { tokenHash: 'u', createdAt: START, lifeMs: HOUR })
  const kept = { ...permanent, keyId, ownDomain: own.name, expiresAt: PERMANENT, label: 'stays' }
  expect(await filled.mail.createSession(kept)).toBeDefined()
  const domains = await filled.mail.listDomains()
  await filled.close()
  run('pg_dump', before)
  run('(echo', before)

  await (await open(after)).close()
  run('psql', after)
  const restored = await open(after, key)
  const started = await startLedger(after, restored)
  expect(started).toMatchObject({ key, state: { reason: 'lost' } })
  expect((await restored.shop.listKeys({ now: START, limit: 9 })).map(({ id }) => id)).toEqual([
    keyId,
  ])
  expect(await restored.mail.listDomains()).toEqual(domains)
  expect(await restored.mail.countBlocks(START)).toBe(1)
  expect(await restored.mail.listOwnDomains(keyId)).toMatchObject([
    { name: 'own.test', state: 'suspended', reason: 'restored', checkedAt: undefined },
  ])
  expect(await restored.mail.findDomain(own.name)).toMatchObject({ owner: keyId, active: false })
  const page = { keyId, now: START, beforeId: undefined, limit: 9 }
  expect(await restored.mail.listKeySessions(page)).toMatchObject([
    { address: 'bob@own.test', label: 'stays', count: 0, bytes: 0 },
  ])
  expect(await restored.mail.findSession('u')).toBeUndefined()
  expect(await restored.mail.findRecipient(address('ann@pool.test'))).toMatchObject({
    session: undefined,
    inLedger: true,
    ledger: { unknownUntil: started.state.unknownUntil },
  })
  // Random, so that the unknown ledger is no reason.
  expect(await restored.mail.createSession({ ...alias, isRandom: true })).toBeUndefined()
  // A key holds it still, but only a check shows that none has taken it over since.
  expect(await restored.mail.isRestoredDomain(host('own.test'))).toBe(true)
  const facts = () => restored.mail.findRecipient(address('any@own.test'))
  expect((await facts()).domain).toMatchObject({ owner: keyId, active: false })
  await restored.mail.changeOwnDomain('dom_1', { state: 'active', reason: null })
  const context = { limits: MAIL_OPTIONS.limits, now: START, size: 1 }
  expect(decideRecipient(address('any@own.test'), await facts(), context)).toMatchObject({
    own: { owner: keyId, permanent: true },
  })
  expect((await restored.mail.addDomain({ ...domain, name: host('next.test') }))?.id).toBe(3)
  await restored.close()
})
