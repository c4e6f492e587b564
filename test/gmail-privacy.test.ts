import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parseAddress } from '../src/base/address.ts'
import { addConfiguredAccounts } from '../src/gmail/accounts.ts'
import { accountMailDeps } from '../src/gmail/fetch-mail.ts'
import { parseMail } from '../src/mime/parse.ts'
import { checkMail, emailsOf, stripTraceHeaders } from './kit/http/api-client.ts'
import { post, request } from './kit/http/http-client.ts'
import { openTestServer, type TestServer } from './kit/http/http-server.ts'
import { keyRing } from './kit/shop/keys.ts'
import { tempFolder } from './kit/store/stores.ts'

const folder = tempFolder()
const clock = { now: new Date('2026-03-01T12:00:00Z') }
const ACCOUNTS = ['joey@gmail.com', 'ann@gmail.com'] as const

let server: TestServer
let ids: Record<string, number>
beforeAll(async () => {
  const file = join(folder.path, 'accounts.json')
  const entries = ACCOUNTS.map((email) => ({ email, password: 'x', dots: true }))
  writeFileSync(file, JSON.stringify(entries))
  const env = { MAYFLY_GMAIL_ACCOUNTS_FILE: file }
  server = await openTestServer({ env, now: () => clock.now, parse: async (raw) => parseMail(raw) })
  await addConfiguredAccounts(
    server,
    ACCOUNTS.map((email) => ({ email: address(email) })),
  )
  const known = await server.store.listAccounts(clock.now)
  ids = Object.fromEntries(known.map(({ email, id }) => [email, id]))
  for (const { id } of known) await server.store.setAccountHealth(id, 'ok', '')
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})
beforeEach(() => {
  clock.now = new Date(clock.now.getTime() + 10_000)
})

function address(text: string) {
  const parsed = parseAddress(text)
  expect.assert(parsed)
  return parsed
}

const accountOf = (id = 0) => ({ id, email: address('joe@gmail.com') })

async function alias(account: (typeof ACCOUNTS)[number], prefix?: string, headers = {}) {
  const url = new URL(`${server.url}/api/create-session?use_gmail=1&gmail_id=${ids[account]}`)
  if (prefix !== undefined) url.searchParams.set('prefix', prefix)
  const { status, body } = await request(url.href, { method: 'POST', headers })
  expect(status, JSON.stringify(body)).toBe(200)
  return body as { email: string; token: string }
}

let mails = 0
/** Like the IMAP fetcher: a mail of this account that names these addresses. */
async function fetched(account: (typeof ACCOUNTS)[number], subject: string, ...to: string[]) {
  mails += 1
  const mail = accountMailDeps(server, accountOf(ids[account]))
  const recipients = await mail.findAliases(to.map(address))
  const text = `Return-Path: <b@shop.test>\r\nTo: ${to}\r\nSubject: ${subject}\r\n\r\nhi\r\n`
  return await mail.receive({
    folder: 'INBOX',
    uid: mails,
    state: { uidValidity: 1, lastUid: mails },
    recipients: recipients.map((one) => ({ ...one, identity: `mail ${mails} ${one.address}` })),
    raw: Buffer.from(text),
    receivedAt: clock.now,
  })
}

const subjects = async ({ token }: { token: string }) =>
  (await checkMail(server.url, token)).map(({ subject }) => subject)

describe('mail is delivered to exactly the alias that it names', () => {
  test('with tags that are prefixes of one another, dot forms, the bare account and another account', async () => {
    const abc = await alias('joey@gmail.com', 'abc')
    const abcd = await alias('joey@gmail.com', 'abcd')
    const dotted = await alias('joey@gmail.com')
    const ofAnn = await alias('ann@gmail.com', 'abc')
    expect(dotted.email).toMatch(/^[joey.]+@gmail\.com$/)
    const none = [
      'joey@gmail.com',
      'joey+ab@gmail.com',
      'joey+abcde@gmail.com',
      'j.o.e.y+abc@gmail.com',
    ]
    const undotted = dotted.email.replace(/\.(?=.*@)/, '')
    for (const to of [...none, undotted, 'joey+abc@googlemail.com']) {
      expect.assert((await fetched('joey@gmail.com', `for ${to}`, to)) === 'no_recipients', to)
    }
    for (const { email } of [abc, abcd, dotted]) {
      expect.assert((await fetched('joey@gmail.com', `for ${email}`, email)) === 'stored')
    }
    expect.assert((await fetched('ann@gmail.com', 'for joey', abc.email)) === 'no_recipients')
    expect.assert((await fetched('ann@gmail.com', 'for ann', ofAnn.email)) === 'stored')
    for (const box of [abc, abcd, dotted]) {
      expect(await subjects(box)).toStrictEqual([`for ${box.email}`])
    }
    expect(await subjects(ofAnn)).toStrictEqual(['for ann'])
  })

  test('a mail that names several aliases is delivered to each', async () => {
    const [one, two] = [await alias('joey@gmail.com', 'one'), await alias('joey@gmail.com', 'two')]
    const other = await alias('joey@gmail.com', 'other')
    await fetched('joey@gmail.com', 'both', one.email, two.email)
    expect(await Promise.all([one, two, other].map(subjects))).toStrictEqual([
      ['both'],
      ['both'],
      [],
    ])
  })

  test('an expired alias gets no mail, and its next owner gets no earlier mail', async () => {
    const previous = await alias('joey@gmail.com', 'handed-on')
    const { id } = (await server.store.listAccounts(clock.now))[0] ?? {}
    const late = await accountMailDeps(server, accountOf(id)).findAliases([address(previous.email)])
    await post(`${server.url}/api/delete-session`, { token: previous.token })
    expect(late.length).toBe(1)
    expect.assert((await fetched('joey@gmail.com', 'late', previous.email)) === 'no_recipients')
    clock.now = new Date(clock.now.getTime() + 31 * 86_400_000)
    const next = await alias('joey@gmail.com', 'handed-on')
    const mail = accountMailDeps(server, accountOf(id))
    const found = await mail.findAliases([address(next.email)])
    const old = {
      folder: 'INBOX',
      uid: 1,
      state: { uidValidity: 2, lastUid: 1 },
      recipients: found.map((one) => ({ ...one, identity: 'found on looking back' })),
      raw: Buffer.from('Subject: the former owner’s\r\n\r\nhi\r\n'),
      receivedAt: new Date(clock.now.getTime() - 15 * 86_400_000),
    }
    expect(await mail.receive(old)).toBe('no_recipients')
    expect(await subjects(next)).toStrictEqual([])
  })
})

describe('mail of an alias can be read', () => {
  test('only with its own token', async () => {
    const [mine, other] = [await alias('joey@gmail.com'), await alias('joey@gmail.com')]
    await fetched('joey@gmail.com', 'mine', mine.email)
    const [{ id = 0 } = {}] = await checkMail(server.url, mine.token)
    for (const path of ['read-mail', 'raw-mail', 'attachment']) {
      const query = `id=${id}&index=0&token=${other.token}`
      const answered = await request(`${server.url}/api/${path}?${query}`)
      expect([answered.status, answered.body['code']], path).toStrictEqual([
        404,
        'message_not_found',
      ])
    }
    const { body } = await post(`${server.url}/api/delete-mail`, {
      id: String(id),
      token: other.token,
    })
    expect(body['code']).toBe('message_not_found')
    expect(await subjects(other)).toStrictEqual([])
    expect(await subjects(mine)).toStrictEqual(['mine'])
  })

  test('only with the key that created it', async () => {
    const ring = keyRing(server.shop, server.now)
    const [own, otherKey] = [await ring.issue(), await ring.issue()]
    const { email } = await alias('joey@gmail.com', 'keyed', own.headers)
    await fetched('joey@gmail.com', 'keyed', email)
    for (const query of ['', `?to=${encodeURIComponent(email)}`]) {
      const seen = async ({ headers }: { headers: Record<string, string> }) =>
        emailsOf(await request(`${server.url}/emails${query}`, { headers })).map(
          ({ subject }) => subject,
        )
      expect(await seen(own)).toStrictEqual(['keyed'])
      expect(await seen(otherKey)).toStrictEqual([])
    }
  })

  test('raw, with trace headers that name no client and its original Return-Path', async () => {
    const { email, token } = await alias('joey@gmail.com', 'raw')
    await fetched('joey@gmail.com', 'raw', email)
    const [{ id = 0 } = {}] = await checkMail(server.url, token)
    const response = await fetch(`${server.url}/api/raw-mail?token=${token}&id=${id}`)
    const bytes = Buffer.from(await response.arrayBuffer())
    const lines = bytes.toString().split('\r\n')
    expect(lines[0]).toBe(`Delivered-To: ${email}`)
    expect(lines[1] ?? '').toMatch(/^Received: by \S+ with IMAP$/)
    expect(lines[3] ?? '').toMatch(new RegExp(`for <${email.replace('+', '\\+')}>; `))
    expect(stripTraceHeaders(bytes).toString()).toMatch(/^Return-Path: <b@shop\.test>\r\nTo: /)
  })
})

describe('force=1 on check-mail', () => {
  const pollRequests: string[] = []
  const unsubscribe: (() => void)[] = []
  beforeAll(() => {
    for (const account of ACCOUNTS) {
      const { onPollRequest } = accountMailDeps(server, accountOf(ids[account]))
      unsubscribe.push(onPollRequest(() => void pollRequests.push(account)))
    }
  })
  afterAll(() => {
    for (const end of unsubscribe) end()
  })
  beforeEach(() => void pollRequests.splice(0))

  /** The bus announces changes in the next turn of the event loop. */
  const forced = async (token: string, query = '&force=1') => {
    const { status } = await request(`${server.url}/api/check-mail?token=${token}${query}`)
    await new Promise(setImmediate)
    return status
  }

  test('requests a poll of the account, and is answered at once', async () => {
    const { token } = await alias('ann@gmail.com')
    expect(await forced(token)).toBe(200)
    expect(pollRequests).toStrictEqual(['ann@gmail.com'])
  })

  test('requests at most one poll every few seconds for all clients, and is never rejected for it', async () => {
    const [one, two] = [await alias('ann@gmail.com'), await alias('ann@gmail.com')]
    for (let round = 0; round < 10; round += 1) {
      for (const { token } of [one, two]) expect(await forced(token)).toBe(200)
    }
    expect(pollRequests).toStrictEqual(['ann@gmail.com'])
    clock.now = new Date(clock.now.getTime() + 3_000)
    await forced(two.token)
    expect(pollRequests.length).toBe(2)
  })

  test('requests no poll without force, for a mail domain, or without a valid token', async () => {
    const { token } = await alias('ann@gmail.com')
    const plain = (await post(`${server.url}/api/create-session`, {})).body as { token: string }
    expect(await forced(token, '')).toBe(200)
    expect(await forced(token, '&force=0')).toBe(200)
    expect(await forced(plain.token)).toBe(200)
    expect(await forced('x'.repeat(43))).toBe(401)
    expect(await forced('')).toBe(400)
    clock.now = new Date(clock.now.getTime() + 86_400_000)
    expect(await forced(token)).toBe(401)
    expect(pollRequests).toStrictEqual([])
  })
})
