import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openDovecot } from './kit/gmail/dovecot.ts'
import { checkMail, createSession } from './kit/http/api-client.ts'
import { openNodes } from './kit/nodes/nodes.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// With production timing: leases last long enough that a node that is only slow keeps them. The same takeover is tested
// with short leases in src/base/jobs/lease.service.test.ts.

const JOE = 'joe@mail.test'
const PASSWORD = 'canary-app-password'
const TAKEOVER_MS = 30_000

const NOW = '(extract(epoch from clock_timestamp()) * 1000)::float8'
const HELD = `select holder, ${NOW} as now from mail.lease
  where ends_at > ${NOW} and (name = 'sweep' or name like 'account %')`

interface LeaseRow {
  holder: string
  now: number
}

test('another node takes over the sweep and the Gmail account of a dead node within half a minute', async () => {
  const folder = tempFolder()
  const dovecot = await openDovecot({ users: { [JOE]: PASSWORD } })
  const file = join(folder.path, 'accounts.json')
  const server = { host: '127.0.0.1', port: dovecot.port, tls: false, password: PASSWORD }
  writeFileSync(file, JSON.stringify([{ email: JOE, ...server }]))
  const env = { MAYFLY_GMAIL_ACCOUNTS_FILE: file }
  const first = await openNodes({ count: 1, env })
  onTestFinished(async () => {
    await first.close()
    await dovecot.close()
    folder.remove()
  })
  const leases = async () => (await first.query(HELD)) as unknown as LeaseRow[]
  await waitUntil(async () => (await leases()).length >= 2)
  const before = await leases()
  const redis = first.redis().url
  const others = await openNodes({ count: 2, env, store: first.store, redis })
  onTestFinished(() => others.close())
  const [url = ''] = others.urls
  const { email, token } = await createSession(url, { use_gmail: '1' })
  const fetched = async (count: number) => {
    const subjects = async () => (await checkMail(url, token)).map(({ subject }) => subject)
    await waitUntil(async () => (await subjects()).length >= count)
    return await subjects()
  }
  dovecot.deliver(JOE, mailTo(email, 'first'))
  expect(await fetched(1)).toStrictEqual(['first'])
  expect(logins(dovecot.log()), 'one node fetches').toBe(1)

  const holders = new Set(before.map(({ holder }) => holder))
  const started = (await leases())[0]?.now ?? 0
  await first.kill(0)
  dovecot.deliver(JOE, mailTo(email, 'second'))
  const isTaken = (rows: LeaseRow[]) =>
    rows.length === 2 && rows.every(({ holder }) => !holders.has(holder))
  let after: LeaseRow[] = []
  await waitUntil(async () => {
    after = await leases()
    return isTaken(after)
  }, TAKEOVER_MS)
  const tookMs = (after[0]?.now ?? 0) - started
  process.stdout.write(`taken over after ${Math.round(tookMs)} ms\n`)
  expect(tookMs, `${tookMs} ms`).toBeLessThan(TAKEOVER_MS)
  expect(await fetched(2)).toStrictEqual(['second', 'first'])
  expect(logins(dovecot.log()), 'again one node fetches').toBe(2)
})

const mailTo = (to: string, subject: string) =>
  `Delivered-To: ${to}\nFrom: Bob <bob@sender.test>\nTo: ${to}\nSubject: ${subject}\nMessage-ID: <${subject}@sender.test>\n\nx\n`

function logins(log: string): number {
  return log.match(/imap-login: Info: Login: /g)?.length ?? 0
}
