import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../src/runtime/config.ts'
import { openMailStoreForCli } from '../src/runtime/stores.ts'
import { runMayflyUnder } from './kit/app/cli.ts'
import { freeServicePorts, type ServiceProcess, spawnService } from './kit/app/service-process.ts'
import { type Dovecot, openDovecot } from './kit/gmail/dovecot.ts'
import { checkMail, createSession } from './kit/http/api-client.ts'
import { request } from './kit/http/http-client.ts'
import { tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// The whole program with a real IMAP server: creates aliases and fetches their mail.

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
const MAILS = LONG ? 1_000 : 50
const ROUNDS = LONG ? 20 : 1
const JOE = 'joe.miller@mail.test'
const ANN = 'ann@mail.test'
const PASSWORD = 'canary-app-password'

let folder: ReturnType<typeof tempFolder>
let dovecot: Dovecot
let served: ServiceProcess
let serve: () => Promise<ServiceProcess>
beforeAll(async () => {
  folder = tempFolder()
  dovecot = await openDovecot({ users: { [JOE]: PASSWORD, [ANN]: PASSWORD } })
  const server = { host: '127.0.0.1', port: dovecot.port, tls: false, password: PASSWORD }
  const file = join(folder.path, 'accounts.json')
  writeFileSync(
    file,
    JSON.stringify([
      { email: JOE, dots: true, ...server },
      { email: ANN, ...server },
    ]),
  )
  const ports = await freeServicePorts()
  const data = join(folder.path, 'data')
  const env = { MAYFLY_GMAIL_ACCOUNTS_FILE: file, MAYFLY_LOG_LEVEL: 'debug' }
  serve = () => spawnService({ folder: data, ports, env })
  served = await serve()
  await waitForHealth('ok')
})
afterAll(async () => {
  if (served.child.exitCode === null) await served.kill('SIGKILL')
  await dovecot.close()
  folder.remove()
})

const gmail = (params: Record<string, string> = {}) =>
  createSession(served.url, { use_gmail: '1', ...params })

/** Resolves when both accounts have this state. No alias can be created until they are ok. */
async function waitForHealth(health: string): Promise<void> {
  const { config } = readConfig({ env: { MAYFLY_DATA: join(folder.path, 'data') }, file: {} })
  const store = await openMailStoreForCli(config)
  const allHave = async () =>
    (await store.listAccounts(new Date())).every((one) => one.health === health)
  await waitUntil(allHave)
  await store.close()
}
const account = (...args: string[]) =>
  runMayflyUnder(
    ['env', `MAYFLY_GMAIL_ACCOUNTS_FILE=${join(folder.path, 'accounts.json')}`],
    join(folder.path, 'data'),
    'account',
    ...args,
  )

const mailTo = (to: string, subject: string) =>
  `Delivered-To: ${to}\nFrom: Bob <bob@sender.test>\nTo: ${to}\nSubject: ${subject}\nMessage-ID: <${subject}@sender.test>\n\nYour code is 123456.\n`
const subjects = async (token: string, query = '') =>
  (await checkMail(served.url, token, query)).map(({ subject }) => subject)

test('a waiting client gets the mail of its alias', async () => {
  const { email, token } = await gmail({ prefix: 'shop' })
  expect(email).toMatch(/\+shop@mail\.test$/)
  const waiting = subjects(token, '&wait=55')
  dovecot.deliver(email.startsWith('joe') ? JOE : ANN, mailTo(email, 'pushed'))
  expect(await waiting).toStrictEqual(['pushed'])
})

test('received_at is the time at which the account received the mail', async () => {
  const { email, token } = await gmail({ gmail_auto: '1' })
  const at = new Date(Date.now() - 90_000)
  const waiting = checkMail(served.url, token, '&wait=55')
  dovecot.deliver(email.startsWith('ann') ? ANN : JOE, mailTo(email, 'late'), { at })
  const [message] = await waiting
  const taken = Date.parse(`${message?.received_at}Z`)
  expect(Math.abs(taken - at.getTime()), String(message?.received_at)).toBeLessThan(2_000)
})

// Matches the connection of an account in Dovecot's log.
const LEFT = /(Logged out|Disconnected|Connection closed)/

test('a deactivated account issues no aliases and is not fetched until it is activated again', async () => {
  const { email, token } = await gmail({ prefix: 'off' })
  const owner = email.startsWith('joe') ? JOE : ANN
  const other = owner === JOE ? ANN : JOE
  const left = () =>
    dovecot
      .log()
      .split('\n')
      .filter((line) => LEFT.test(line) && line.includes(owner))
  const before = left().length
  expect((await account('deactivate', owner)).status).toBe(0)
  await waitUntil(() => left().length > before)
  const { body } = await request(`${served.url}/api/domains`)
  expect((body['gmail_accounts'] as { email: string }[]).map((one) => one.email)).toStrictEqual([
    other,
  ])
  dovecot.deliver(owner, mailTo(email, 'while off'))
  const { email: next, token: nextToken } = await gmail({ prefix: 'on' })
  expect(next.startsWith(other.split('@')[0] ?? '-')).toBeTruthy()
  dovecot.deliver(other, mailTo(next, 'elsewhere'))
  expect(await subjects(nextToken, '&wait=55')).toStrictEqual(['elsewhere'])
  expect(await subjects(token)).toStrictEqual([])
  expect((await account('activate', owner)).status).toBe(0)
  expect(await subjects(token, '&wait=55')).toStrictEqual(['while off'])
})

test('after a SIGKILL during a fetch each mail is stored exactly once, in its own mailbox', async () => {
  const boxes = await Promise.all(Array.from({ length: 10 }, () => gmail()))
  const sent = new Map<string, string[]>(boxes.map(({ token }) => [token, []]))
  const send = (number: number) => {
    const { email, token } = boxes[number % boxes.length] ?? { email: '', token: '' }
    const owner = email.startsWith('ann') ? ANN : JOE
    dovecot.deliver(owner, mailTo(email, `mail-${number}`))
    sent.get(token)?.push(`mail-${number}`)
  }
  // Read-only, so that the service itself recovers the file.
  const db = new Database(join(folder.path, 'data', 'mail.db'), { readonly: true })
  onTestFinished(() => void db.close())
  const count = db.prepare('select count(*) from message').pluck()
  const stored = () => Number(count.get())
  const first = stored()
  for (let round = 0; round < ROUNDS; round += 1) {
    const each = MAILS / ROUNDS
    const before = stored()
    const sendFrom = (start: number, end: number) => {
      for (let number = start; number < end; number += 1) send(round * each + number)
    }
    // The second half is sent right before the kill: some mails are not stored yet, even if the first was noticed late.
    sendFrom(0, each / 2)
    await waitUntil(() => stored() > before)
    sendFrom(each / 2, each)
    await served.kill('SIGKILL')
    expect(stored(), 'some mails are not stored yet').toBeLessThan(first + (round + 1) * each)
    served = await serve()
  }
  const restarted = performance.now()
  const backlog = first + MAILS - stored()
  for (const [token, expected] of sent) {
    const all = () => subjects(token, '&limit=500')
    // In case of a timeout, the comparison names the missing mails.
    await waitUntil(async () => (await all()).length >= expected.length).catch(() => {})
    expect((await all()).toSorted()).toStrictEqual(expected.toSorted())
  }
  const seconds = ((performance.now() - restarted) / 1_000).toFixed(1)
  process.stdout.write(
    `${MAILS} mails; the last ${backlog} were there ${seconds} s after the restart\n`,
  )
})

test('no secret of an account is in the log, a response, a metric or a file', async () => {
  for (const email of [JOE, ANN]) dovecot.setPassword(email, 'another')
  await dovecot.stop()
  await dovecot.start()
  await waitForHealth('failing')
  const { stdout: listed } = await account('list')
  expect(listed).toMatch(/failing/)
  const responses = await Promise.all(
    ['/readyz', '/metrics', '/api/domains', '/openapi.json'].map((path) =>
      request(served.url + path),
    ),
  )
  expect(await served.kill('SIGTERM')).toBe(0)
  const files = readdirSync(join(folder.path, 'data')).map((name) =>
    readFileSync(join(folder.path, 'data', name), 'latin1'),
  )
  expect(served.output()).toMatch(/does not accept the login/)
  for (const text of [served.output(), ...responses.map((one) => one.text), ...files, listed]) {
    expect(text).not.toMatch(/canary-app-password/)
  }
})
