import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type BlockDeps, installationEntries } from '../src/blocks/blocks.ts'
import { addEntries, removeEntries } from '../src/blocks/commands.ts'
import { deleteMail } from '../src/mail/commands/mail.ts'
import { deleteOperatorMessages } from '../src/mail/commands/operator-inbox.ts'
import { endSession, printSessions } from '../src/mail/commands/session.ts'
import type { OperatorDeps } from '../src/mail/operator.ts'
import { openMailStoreForCli, openShopStoreForCli } from '../src/runtime/stores.ts'
import { OlderSchema } from '../src/store/schema.ts'
import { WAIT_FOR_EXTRACTION } from './kit/app/app.ts'
import { emailsOf, openEventStream } from './kit/http/api-client.ts'
import { request } from './kit/http/http-client.ts'
import { type AppWithKeys, startAppWithKeys, type TestKey } from './kit/shop/keys.ts'
import { connectSmtp, readGreeting } from './kit/smtp/smtp-client.ts'
import { setSchemaVersion } from './kit/store/sql.ts'
import { waitUntil } from './kit/wait-until.ts'

// Operator commands while a service runs: what clients see as soon as a command has returned.

const BAD = '127.0.0.2'
const GOOD = '127.0.0.3'
const ADMIN_TOKEN = 'the-admin-token-of-commands'
const BEARER = { authorization: `Bearer ${ADMIN_TOKEN}` }

let server: AppWithKeys
let key: TestKey
let store: Awaited<ReturnType<typeof openMailStoreForCli>>
let deps: OperatorDeps & BlockDeps
let lines: string[] = []
const print = (line: string) => void lines.push(line)

beforeAll(async () => {
  // Two HTTP threads, each with its own session cache.
  server = await startAppWithKeys({
    ...WAIT_FOR_EXTRACTION,
    // A command cannot wake waiting clients: they poll.
    intervals: { pollMs: 100, heartbeatMs: 3_600_000 },
    env: {
      MAYFLY_HTTP_THREADS: '2',
      MAYFLY_SESSION_MAX_MESSAGES: '4',
      MAYFLY_ADMIN_TOKEN: ADMIN_TOKEN,
      // No name server: the checks must not wait for one.
      MAYFLY_DNS: '127.0.0.1:1',
    },
  })
  key = await server.ring.issue()
  store = await openMailStoreForCli(server.config)
  deps = { store, own: installationEntries(server.config, ['203.0.113.7']), now: server.now }
})
afterAll(async () => {
  await store.close()
  await server.stop()
})
beforeEach(() => {
  lines = []
})

async function sendFrom(localAddress: string, to: string[]): Promise<number> {
  const client = await connectSmtp(server.smtpPort, '127.0.0.1', { localAddress })
  const raw = `From: a@sender.test\r\nSubject: from ${localAddress}\r\n\r\nhello\r\n`
  const { code } = await client.send({ to, raw })
  client.close()
  return code
}

const check = (token: string, more = '', headers: Record<string, string> = {}) =>
  request(`${server.url}/api/check-mail?token=${token}${more}`, { headers })
const subjects = ({ body }: Awaited<ReturnType<typeof check>>) =>
  (body['messages'] as { subject: string }[]).map(({ subject }) => subject)

/** Polls on both threads until the command has returned, so that both have the old session in their caches. */
async function whilePolled(token: string, command: () => Promise<void>): Promise<void> {
  let done = false
  let count = 0
  const poll = async () => {
    for (; !done; count += 1) await check(token)
  }
  const polls = [poll(), poll(), poll(), poll()]
  await waitUntil(() => count >= 50)
  await command().finally(() => {
    done = true
  })
  await Promise.all(polls)
}

/** Concurrent requests on connections of all threads. */
async function eachThread<T>(request: () => Promise<T>): Promise<T[]> {
  return await Promise.all(Array.from({ length: 20 }, request))
}

describe('with a service of an older version', () => {
  test.each(['mail', 'shop'] as const)(
    'a command leaves the schema of %s as it is',
    async (kind) => {
      const current = await setSchemaVersion(server.config, kind, 1)
      try {
        const opening =
          kind === 'mail' ? openMailStoreForCli(server.config) : openShopStoreForCli(server.config)
        await expect(opening.then((opened) => opened.close())).rejects.toThrow(OlderSchema)
      } finally {
        expect(await setSchemaVersion(server.config, kind, current)).toBe(1)
      }
    },
  )
})

describe('session end', () => {
  test('no request that starts after it sees the session or its mail', async () => {
    const { email, token } = await server.session({ domain_id: '2' }, key.headers)
    expect(await sendFrom(GOOD, [email])).toBe(250)
    const [{ id = 0 } = {}] = (await check(token)).body['messages'] as { id: number }[]
    await printSessions(deps, { limit: 50, json: true }, print)
    expect(lines.join('\n')).toMatch(new RegExp(`"email": "${email}"`))

    await whilePolled(token, () => endSession(deps, email, print))
    for (const { status, body } of await eachThread(() => check(token))) {
      expect([status, body['code']]).toStrictEqual([401, 'invalid_token'])
    }
    for (const path of ['read-mail', 'raw-mail']) {
      const read = await request(`${server.url}/api/${path}?token=${token}&id=${id}`)
      expect(read.status).toBe(401)
    }
    const emails = await request(`${server.url}/emails?to=${email}`, { headers: key.headers })
    expect(emailsOf(emails)).toStrictEqual([])
    expect(lines.at(-1) ?? '').toMatch(
      /^Ended the session for \S+\. 1 message \(.+\) can no longer/,
    )
    lines = []
    await printSessions(deps, { limit: 50 }, print)
    expect(lines.join('\n')).not.toMatch(new RegExp(email))
  })

  test('the address cools down: mail is rejected, it is not reissued, and its token cannot revive it', async () => {
    const { email, token } = await server.session({ prefix: 'cooling', domain_id: '2' })
    await endSession(deps, email, print)
    expect(await sendFrom(GOOD, [email])).toBe(550)
    await expect(server.session({ prefix: 'cooling', domain_id: '2' })).rejects.toThrow(
      /address_taken/,
    )
    const url = `${server.url}/api/extend-session?token=${token}`
    expect((await request(url, { method: 'POST' })).status).toBe(401)
    await expect(endSession(deps, email, print)).rejects.toThrow(/^No live session holds /)
  })

  test('waiting clients are notified: a stream ends, a long poll gets 401', async () => {
    const { email, token } = await server.session()
    const stream = await openEventStream(server.url, token)
    const waiting = check(token, '&wait=30')
    await endSession(deps, email, print)
    const { status, body } = await waiting
    expect([status, body['code']]).toStrictEqual([401, 'invalid_token'])
    await stream.waitForEnd()
    expect(stream.received()).toMatch(/event: end\ndata: \{"reason":"deleted"\}/)
  })
})

describe('mail delete --from-ip', () => {
  const progress = { tell() {}, end() {} }
  const deleteFrom = (fromIp: string) =>
    deleteMail(deps, { fromIp, signal: new AbortController().signal, progress }, print)

  test('lists, 304s, streams and /emails are correct as soon as it has returned', async () => {
    const { email, token } = await server.session({ domain_id: '1' }, key.headers)
    const to = [email, 'anybody@pool.test', 'abuse@pool.test']
    for (const ip of [BAD, GOOD, BAD]) expect(await sendFrom(ip, to)).toBe(250)
    expect(await sendFrom(BAD, ['somebody@pool.test'])).toBe(250)
    const before = await check(token)
    const paid = await request(`${server.url}/emails`, { headers: key.headers })
    expect(emailsOf(paid).length).toBe(7)
    const tag = { 'if-none-match': before.headers.get('etag') ?? '' }
    const paidTag = { 'if-none-match': paid.headers.get('etag') ?? '' }
    expect((await check(token, '', tag)).status).toBe(304)
    const stream = await openEventStream(server.url, token)

    await whilePolled(token, () => deleteFrom(BAD))
    for (const after of await eachThread(() => check(token, '', tag))) {
      expect(after.status).toBe(200)
      expect(subjects(after)).toStrictEqual([`from ${GOOD}`])
    }
    const headers = { ...key.headers, ...paidTag }
    const left = emailsOf(await request(`${server.url}/emails`, { headers }))
    expect(left.map(({ subject }) => subject)).toStrictEqual([`from ${GOOD}`, `from ${GOOD}`])
    await stream.waitFor(/event: deleted.*event: deleted/s)
    await stream.end()
    await printSessions(deps, { limit: 50 }, print)
    expect(lines.join('\n')).toMatch(new RegExp(`^${email} .* 1 +\\d+ bytes +yes$`, 'm'))
    expect(lines[0] ?? '').toMatch(
      /^Deleted 7 messages \(\d+ bytes\) from 127\.0\.0\.2: 2 in 1 session, 3 in the pool, 2 for postmaster and abuse\.$/,
    )
    await deleteFrom(BAD)
    expect(lines.at(-1)).toBe(`No messages from ${BAD} were found.`)
  })
})

describe('block add', () => {
  const greeting = async (ip: string) =>
    Number.parseInt(await readGreeting(server.smtpPort, ip), 10)

  test('clients and senders are refused, counted, and accepted again once removed', async () => {
    // A mailbox holds four messages.
    const to = ['unblocked@pool.test']
    // In this order, because each is a commit: a service that knows the second one knows the first.
    await addEntries(deps, ['bad.test', `${BAD}/32`], { force: true }, print)
    await waitUntil(async () => (await greeting(BAD)) === 554)
    expect(await greeting(GOOD)).toBe(220)
    const client = await connectSmtp(server.smtpPort)
    const raw = 'Subject: x\r\n\r\nhello\r\n'
    // A second From at the end of a long header.
    const long = `From: <a@good.test>\r\n${'X: y\r\n'.repeat(2_000)}From: <a@bad.test>\r\n${raw}`
    const codes = async () => {
      const sent = [
        await client.send({ to, raw, from: 'a@mail.bad.test' }),
        await client.send({ to, raw: long }),
        await client.send({ to, raw }),
      ]
      return sent.map(({ code }) => code)
    }
    expect(await codes()).toStrictEqual([550, 550, 250])
    const metrics = await (await fetch(`${server.url}/metrics`, { headers: BEARER })).text()
    for (const reason of ['client', 'mail_from', 'from_header'])
      expect(metrics).toMatch(
        new RegExp(`^mayfly_block_list_refusals_total\\{reason="${reason}"\\} [1-9]`, 'm'),
      )

    await removeEntries(deps, ['bad.test', BAD], print)
    await waitUntil(async () => (await greeting(BAD)) === 220)
    expect(await codes()).toStrictEqual([250, 250, 250])
    client.close()
  })
})

describe('inbox --operator --delete', () => {
  test('makes room for mail to postmaster and abuse', async () => {
    await deleteOperatorMessages(deps, 'all', print)
    let code = 250
    for (let sent = 0; code === 250 && sent < 10; sent += 1) {
      // Each from another sender: a single one would only use up its share.
      code = await sendFrom(`127.0.0.${20 + sent}`, ['abuse@box.test'])
    }
    expect(code).toBe(452)
    await deleteOperatorMessages(deps, 'all', print)
    expect(lines.at(-1) ?? '').toMatch(/^Deleted 4 messages \(/)
    expect(await sendFrom(GOOD, ['abuse@box.test'])).toBe(250)
  })
})

test('checks requested from the admin API run once at a time, by whichever thread', async () => {
  const run = () =>
    request(`${server.url}/admin/api/checks/run`, { method: 'POST', headers: BEARER })
  const [made, refused] = (await Promise.all([run(), run()])).toSorted(
    (one, other) => one.status - other.status,
  )
  expect([made?.status, refused?.status, refused?.body['code']]).toStrictEqual([
    200,
    409,
    'already_running',
  ])
  // On a slow machine after the response.
  await waitUntil(() => store.readCheckRun())
  const shown = await request(`${server.url}/admin/api/checks`, { headers: BEARER })
  const names = (shown.body['checks'] as { name: string }[]).map(({ name }) => name)
  const stored = (await store.readCheckRun())?.checks.map(({ name }) => name)
  expect(names).toStrictEqual(stored)
  expect(names.includes('mx') && names.includes('delivery'), names.join()).toBeTruthy()
})
