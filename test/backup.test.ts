import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Address } from '../src/base/address.ts'
import { ledgerKey, openLedgerHmac } from '../src/mail/rules/ledger.ts'
import { writeBackup } from '../src/store/backup/backup.ts'
import { openReadOnly } from '../src/store/sqlite/files.ts'
import { MAIL } from './kit/app/app.ts'
import { runMayfly, runMayflyUnder } from './kit/app/cli.ts'
import { freeServicePorts, type ServiceProcess, spawnService } from './kit/app/service-process.ts'
import { program } from './kit/programs/programs.ts'
import { type KeyRing, openKeyRing, type TestKey } from './kit/shop/keys.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { tempFolder } from './kit/store/stores.ts'

let scratch: ReturnType<typeof tempFolder>
let data = ''
let file = ''
let ports: { http: number; smtp: number }
let served: ServiceProcess

beforeEach(async () => {
  scratch = tempFolder()
  data = join(scratch.path, 'data')
  file = join(scratch.path, 'shop-backup.db')
  ports = await freeServicePorts()
})
afterEach(async () => {
  if (served?.child.exitCode === null) await served.kill('SIGKILL')
  scratch.remove()
})

async function start(): Promise<void> {
  const env = { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1' }
  served = await spawnService({ folder: data, ports, env })
}

/** The shop as an operator's command opens it, whether the service runs or not. */
async function withKeys<Result>(operation: (ring: KeyRing) => Promise<Result>): Promise<Result> {
  const config = { data, store: 'sqlite:' }
  const ring = await openKeyRing({ config, now: () => new Date() })
  try {
    return await operation(ring)
  } finally {
    await ring.close()
  }
}

const issueKey = () => withKeys((ring) => ring.issue())
const emails = ({ headers }: TestKey, to = '') =>
  fetch(`${served.url}/emails?${new URLSearchParams({ to })}`, { headers })

async function statusOf(key: TestKey, to?: string): Promise<number> {
  const response = await emails(key, to)
  await response.body?.cancel()
  return response.status
}

async function usedOf({ headers }: TestKey): Promise<number> {
  const response = await fetch(`${served.url}/usage`, { headers })
  return ((await response.json()) as { used: number }).used
}

async function restored(): Promise<string> {
  const result = await runMayfly(data, 'restore', file)
  expect(result).toMatchObject({ status: 0, stderr: '' })
  return result.stdout
}

interface KeyFacts {
  id: string
  used: number
  counted: number
  secrets: number
}

/** The keys in a backup. Counters are stored twice and must agree. */
function keysIn(path: string): KeyFacts[] {
  const db = openReadOnly(path)
  try {
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(db.pragma('journal_mode', { simple: true })).toBe('delete')
    return db
      .prepare<[], KeyFacts>(
        `select id, used, (select coalesce(sum(count), 0) from usage_day where key_id = id) as counted,
           (select count(*) from key_secret where key_id = id) as secrets from api_key`,
      )
      .all()
  } finally {
    db.close()
  }
}

interface Acknowledged {
  keys: string[]
  addresses: string[]
  requests: number
  mails: number
}

/** Until it is stopped: requests with a key, new keys and addresses, and mail. Paced: a backup that takes longer proves no more. */
async function startLoad() {
  const ring = await openKeyRing({ config: { data, store: 'sqlite:' }, now: () => new Date() })
  const busy = await ring.issue({ requests: 100_000 })
  // Without mail, which would have to be parsed.
  const empty = await sessionOf(busy)
  const done: Acknowledged = { keys: [], addresses: [await sessionOf(busy)], requests: 0, mails: 0 }
  let going = true
  const repeat = async (step: () => Promise<void>) => {
    while (going) {
      await step()
      await setTimeout(5)
    }
  }
  const poll = async () => {
    expect(await statusOf(busy, empty)).toBe(200)
    done.requests += 1
  }
  const receive = async () => {
    // Not always the same: it would be full. A busy machine may defer it.
    if ((await mail(done.addresses.at(-1) ?? '')) === 250) done.mails += 1
  }
  const issue = async () => void done.keys.push((await ring.issue()).id)
  const create = async () => void done.addresses.push(await sessionOf(busy))
  const running = Promise.all([poll, poll, receive, receive, issue, create].map(repeat))
  return {
    busy,
    acknowledged: (): Acknowledged => ({
      ...done,
      keys: [...done.keys],
      addresses: [...done.addresses],
    }),
    async stop() {
      going = false
      await running.finally(ring.close)
    },
  }
}

/** Whether each of these addresses is in the ledger of a backup. */
function knowsAddresses(path: string, addresses: readonly string[]): boolean {
  const db = openReadOnly(path)
  const secret = db.prepare<[], Buffer>('select secret from installation').pluck().get()
  const entries = new Set(db.prepare('select hmac from address_ledger').pluck().all())
  db.close()
  const { of } = openLedgerHmac(ledgerKey(secret ?? new Uint8Array()))
  return addresses.every((address) => entries.has(of(address as Address)))
}

test('backups while mail comes in have all that was acknowledged before, and one is restored with everything', async () => {
  await start()
  const folder = join(scratch.path, 'backups')
  mkdirSync(folder)
  const run = async (...args: string[]) => {
    const result = await runMayfly(data, ...args)
    expect(result).toMatchObject({ status: 0, stderr: '' })
    return result.stdout
  }
  await run('block', 'add', 'spam.test')
  await run('domain', 'add', 'later.test')
  const load = await startLoad()
  const { busy } = load
  const webhook = { url: 'http://127.0.0.1:9/in', from: 'nobody@sender.test' }
  try {
    const options = { method: 'POST', headers: busy.headers, body: new URLSearchParams(webhook) }
    expect((await fetch(`${served.url}/webhooks`, options)).status).toBe(200)
    for (let round = 0; round < 2; round += 1) {
      const before = load.acknowledged()
      const printed = await run('backup', folder, '--keep', '1')
      const [name = '', ...others] = readdirSync(folder)
      expect(others).toEqual([])
      file = join(folder, name)
      const keys = keysIn(file)
      expect(printed).toContain(`Wrote ${file}: ${keys.length.toLocaleString('en-US')} keys, 0`)
      expect(keys.map(({ id }) => id)).toEqual(expect.arrayContaining(before.keys))
      for (const { used, counted, secrets } of keys) expect([counted, secrets]).toEqual([used, 1])
      const spent = keys.find(({ id }) => id === busy.id)?.used ?? 0
      expect(spent).toBeGreaterThanOrEqual(before.requests)
      expect(knowsAddresses(file, before.addresses)).toBe(true)
    }
  } finally {
    await load.stop()
  }
  const { requests, mails, addresses } = load.acknowledged()
  for (const count of [requests, mails, addresses.length]) expect(count).toBeGreaterThan(0)

  await served.kill('SIGTERM')
  data = join(scratch.path, 'empty')
  await restored()
  await start()
  expect(await statusOf(busy)).toBe(200)
  const { headers } = busy
  const webhooks = await (await fetch(`${served.url}/webhooks`, { headers })).json()
  expect(webhooks).toMatchObject({ webhooks: [webhook] })
  expect(await mail('postmaster@later.test')).toBe(250)
  expect(await mail('postmaster@later.test', 'ann@spam.test')).toBe(550)
})

test('a restore brings back keys as they were, prints the consequences, and can be undone', async () => {
  await start()
  const [early, ended] = [await issueKey(), await issueKey()]
  for (let request = 0; request < 3; request += 1) expect(await statusOf(early)).toBe(200)
  expect((await runMayfly(data, 'backup', file)).stdout).toMatch(
    /: 2 keys, 0 orders, 0 blocks and 0 addresses, \d+ kB; verified\./,
  )
  expect(await statusOf(early)).toBe(200)
  await withKeys(({ shop }) => shop.revokeKey(ended.id))
  const late = await issueKey()

  // Refused while the service runs, which is unaffected.
  expect(await runMayfly(data, 'restore', file)).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringMatching(/^The data folder .* is in use by another mayfly.*\n$/),
  })
  expect(await statusOf(late)).toBe(200)
  // Killed, so that it leaves a WAL file with changes made after the backup.
  await served.kill('SIGKILL')
  expect(statSync(join(data, 'shop.db-wal')).size).toBeGreaterThan(0)

  const words = await restored()
  expect(words).toMatch(
    /2 keys, 0 orders.*made since then.*Revocations.*since then.*no longer exist/s,
  )
  await start()
  expect(await usedOf(early)).toBe(3)
  expect([await statusOf(ended), await statusOf(late)]).toEqual([200, 401])

  await served.kill('SIGTERM')
  const [, previous = ''] = /previous shop is in (\S+)/.exec(words) ?? []
  copyFileSync(previous, file)
  await restored()
  const keys = await withKeys(({ shop }) => shop.listKeys({ now: new Date(), limit: 100 }))
  const facts = new Map(keys.map(({ id, state, used }) => [id, [state, used]]))
  expect(facts.get(early.id)).toEqual(['active', 4])
  expect(facts.get(ended.id)).toEqual(['revoked', 0])
  expect(facts.get(late.id)).toEqual(['active', 1])
})

// Other invalid files: src/store/backup/restore.test.ts.
test('an incomplete backup is rejected with one line, and nothing changes', async () => {
  await issueKey()
  writeBackup(data, file, { force: false, tell() {} })
  // The first restore creates lock.db.
  const names = () => readdirSync(data).filter((name) => name !== 'lock.db')
  const [before, namesBefore] = [readFileSync(join(data, 'shop.db')), names()]
  writeFileSync(file, readFileSync(file).subarray(0, -1))
  const result = await runMayfly(data, 'restore', file)
  expect(result).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining(file) })
  expect(result.stderr.trim().split('\n')).toHaveLength(1)
  expect(readFileSync(join(data, 'shop.db')).equals(before)).toBe(true)
  expect(names()).toEqual(namesBefore)
})

test('after a restore no new key gets the id or the mail of a key that was lost', async () => {
  await start()
  await issueKey()
  writeBackup(data, file, { force: false, tell() {} })
  const [owner, other] = [await issueKey(), await issueKey()]
  const address = await sessionOf(owner)
  expect(await mail(address)).toBe(250)
  expect(await subjectsFor(owner)).toEqual(['Hello'])
  await served.kill('SIGTERM')
  await restored()
  await start()
  const fresh = [await issueKey(), await issueKey()]
  const ids = new Set([owner, other, ...fresh].map(({ id }) => id))
  expect(ids.size).toBe(4)
  // The session still exists: mail.db was not restored, and its token is still valid.
  expect(await mail(address)).toBe(250)
  for (const key of fresh) expect(await subjectsFor(key)).toEqual([])
  for (const key of [owner, other]) expect(await statusOf(key)).toBe(401)
})

test('a copy is synced before it is renamed, and the rename is synced before success is reported', async () => {
  await issueKey()
  const trace = join(scratch.path, 'trace')
  const strace = [
    program('strace'),
    '-f',
    '--seccomp-bpf',
    '-y',
    '-o',
    trace,
    '-e',
    'trace=fsync,fdatasync,/rename',
  ]
  for (const [command, name, folder] of [
    ['backup', file, scratch.path],
    ['restore', join(data, 'shop.db'), data],
  ] as const) {
    expect(await runMayflyUnder(strace, data, command, file)).toMatchObject({ status: 0 })
    const calls = readFileSync(trace, 'utf8').split('\n')
    const renamed = calls.findIndex((call) => call.includes('rename') && call.includes(`"${name}"`))
    const synced = (path: RegExp) => (call: string) =>
      /fsync\(|fdatasync\(/.test(call) && path.test(call)
    expect(renamed, command).toBeGreaterThan(-1)
    expect(calls.slice(0, renamed).some(synced(/\/\.mayfly-\w+\/[\w-]+\.db>/)), command).toBe(true)
    expect(calls.slice(renamed).some(synced(new RegExp(`<${folder}>`))), command).toBe(true)
  }
})

async function sessionOf({ headers }: TestKey): Promise<string> {
  const response = await fetch(`${served.url}/api/create-session`, {
    method: 'POST',
    headers,
    body: new URLSearchParams({ domain_id: '1' }),
  })
  expect(response.status).toBe(200)
  return ((await response.json()) as { email: string }).email
}

async function mail(to: string, from = 'ann@sender.test'): Promise<number> {
  const client = await connectSmtp(served.smtpPort)
  const { code } = await client.send({ to: [to], raw: MAIL.replace('ann@sender.test', from) })
  client.close()
  return code
}

async function subjectsFor(key: TestKey): Promise<string[]> {
  const response = await emails(key)
  expect(response.status).toBe(200)
  const list = (await response.json()) as { emails: { subject: string }[] }[]
  return list.flatMap(({ emails }) => emails.map(({ subject }) => subject))
}
