import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp, WAIT_FOR_EXTRACTION } from '../../../test/kit/app/app.ts'
import { openTestServer } from '../../../test/kit/http/http-server.ts'
import { StoreUnavailable } from '../../base/problem.ts'
import { mailTmClient } from '../testing/mailtm-client.ts'

const LINKED = 'application/ld+json'
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/

let app: App
let call: ReturnType<typeof mailTmClient>['call']
let account: ReturnType<typeof mailTmClient>['account']
beforeAll(async () => {
  app = await startApp({ env: { MAYFLY_DOORS: 'mailtm' }, ...WAIT_FOR_EXTRACTION })
  ;({ call, account } = mailTmClient(app.url))
})
afterAll(() => app.stop())

const mail = (to: string, subject = 'Hello') =>
  [
    ...['From: Ann Sender <ann@sender.test>', `To: You <${to}>`, 'Cc: Bob <bob@other.test>'],
    ...[`Subject: ${subject}`, 'Message-ID: <1@sender.test>', 'MIME-Version: 1.0'],
    ...['Content-Type: multipart/mixed; boundary=b', '', '--b'],
    ...['Content-Type: multipart/alternative; boundary=c', '', '--c'],
    ...['Content-Type: text/plain', '', 'Your code is 123456.', '--c'],
    ...['Content-Type: text/html', '', '<p>Your code is <b>123456</b>.</p>', '--c--', '--b'],
    ...['Content-Type: text/csv; name="a.csv"', 'Content-Disposition: attachment'],
    ...['Content-Transfer-Encoding: base64', '', Buffer.from('1,2\n').toString('base64'), '--b--'],
    '',
  ].join('\r\n')

interface Listed {
  id: string
  subject: string
  seen: boolean
}

const list = async (token: string, query = '') =>
  (await call(`/messages${query}`, { token })).list as unknown as Listed[]

/** An account with one message. */
async function withMail() {
  const owner = await account()
  expect(await app.mail(owner.address, mail(owner.address))).toBe(250)
  const [message] = await list(owner.token)
  expect.assert(message)
  return { ...owner, message }
}

const listedMessage = (owner: { id: string; address: string }, id: string) => ({
  id,
  accountId: `/accounts/${owner.id}`,
  from: { address: 'ann@sender.test', name: 'Ann Sender' },
  to: [{ address: owner.address, name: '' }],
  ...{ subject: 'Hello', intro: 'Your code is 123456.', msgid: '' },
  ...{ seen: false, isDeleted: false, hasAttachments: true, size: expect.any(Number) },
  downloadUrl: `/messages/${id}/download`,
  sourceUrl: `/sources/${id}`,
  createdAt: expect.stringMatching(TIME),
  updatedAt: expect.stringMatching(TIME),
})

describe('GET /messages', () => {
  test('200: newest first; JSON is a list, JSON-LD a collection', async () => {
    const owner = await withMail()
    const expected = listedMessage(owner, owner.message.id)
    expect(await list(owner.token)).toStrictEqual([expected])
    const { body } = await call('/messages?page=1', { token: owner.token, accept: LINKED })
    expect(body).toStrictEqual({
      ...{ '@context': '/contexts/Message', '@id': '/messages', '@type': 'hydra:Collection' },
      'hydra:member': [{ '@id': `/messages/${owner.message.id}`, '@type': 'Message', ...expected }],
      'hydra:totalItems': 1,
    })
  })

  test('200: 30 to a page, with links to the others', async () => {
    const owner = await account()
    for (let at = 1; at <= 65; at += 1) {
      expect(await app.mail(owner.address, `Subject: ${at}\r\n\r\nx\r\n`)).toBe(250)
    }
    const pages = []
    for (const page of [1, 2, 3, 4]) {
      const { body } = await call(`/messages?page=${page}`, { token: owner.token, accept: LINKED })
      expect(body['hydra:totalItems']).toBe(65)
      const subjects = (body['hydra:member'] as Listed[]).map(({ subject }) => Number(subject))
      pages.push({ subjects, view: body['hydra:view'] })
    }
    const range = (from: number, to: number) =>
      Array.from({ length: from - to + 1 }, (_, at) => from - at)
    const view = (page: number, more: object) => ({
      ...{ '@id': `/messages?page=${page}`, '@type': 'hydra:PartialCollectionView' },
      ...{ 'hydra:first': '/messages?page=1', 'hydra:last': '/messages?page=3', ...more },
    })
    const [previous, next] = ['hydra:previous', 'hydra:next']
    expect(pages).toStrictEqual([
      { subjects: range(65, 36), view: view(1, { [next]: '/messages?page=2' }) },
      {
        subjects: range(35, 6),
        view: view(2, { [previous]: '/messages?page=1', [next]: '/messages?page=3' }),
      },
      { subjects: range(5, 1), view: view(3, { [previous]: '/messages?page=2' }) },
      { subjects: [], view: view(4, { [previous]: '/messages?page=3' }) },
    ])
  })

  test('400: a page that is none', async () => {
    const { token } = await account()
    for (const page of ['0', 'x', '-1']) {
      const { status, body } = await call(`/messages?page=${page}`, { token })
      expect([status, body['title']]).toStrictEqual([400, 'An error occurred'])
    }
  })
})

describe('a message', () => {
  test('200: in full', async () => {
    const owner = await withMail()
    const { id } = owner.message
    const { body } = await call(`/messages/${id}`, { token: owner.token })
    const whole = {
      ...listedMessage(owner, id),
      msgid: '<1@sender.test>',
      to: [{ address: owner.address, name: 'You' }],
      cc: [{ address: 'bob@other.test', name: 'Bob' }],
      ...{ bcc: [], flagged: false, verifications: [], retention: true },
      retentionDate: expect.stringMatching(TIME),
      text: expect.stringContaining('Your code is 123456.'),
      html: [expect.stringContaining('<b>123456</b>')],
      attachments: [
        {
          id: 'ATTACH000001',
          ...{ filename: 'a.csv', contentType: 'text/csv', disposition: 'attachment' },
          ...{ transferEncoding: 'base64', related: false, size: 4 },
          downloadUrl: `/messages/${id}/attachment/ATTACH000001`,
        },
      ],
    }
    expect(body).toStrictEqual(whole)
    const linked = await call(`/messages/${id}`, { token: owner.token, accept: LINKED })
    const links = { '@context': '/contexts/Message', '@id': `/messages/${id}`, '@type': 'Message' }
    expect(linked.body).toStrictEqual({ ...links, ...whole })
  })

  test('200: a long text is complete', async () => {
    const owner = await account()
    const text = `${'x'.repeat(70)}\r\n`.repeat(5_000)
    expect(await app.mail(owner.address, `Subject: long\r\n\r\n${text}`)).toBe(250)
    const [message] = await list(owner.token)
    const { body } = await call(`/messages/${message?.id}`, { token: owner.token })
    expect(String(body['text']).length).toBeGreaterThan(350_000)
    expect(body['subject']).toBe('long')
  })

  test('200: seen and unseen; reading alone does not mark it', async () => {
    const owner = await withMail()
    const path = `/messages/${owner.message.id}`
    const { token } = owner
    await call(path, { token })
    expect((await list(token))[0]?.seen).toBe(false)
    for (const seen of [true, false, true]) {
      const patched = await call(path, { method: 'PATCH', token, body: { seen } })
      expect([patched.status, patched.body['seen']]).toStrictEqual([200, seen])
      expect((await call(path, { token })).body['seen']).toBe(seen)
      expect((await list(token))[0]?.seen).toBe(seen)
    }
    const type = { 'content-type': 'application/json' }
    const plain = { method: 'PATCH', token, body: { seen: false }, headers: type }
    expect((await call(path, plain)).body['seen'], 'as some clients send it').toBe(false)
    const wrong = await call(path, { method: 'PATCH', token, body: { seen: 'maybe' } })
    expect([wrong.status, wrong.body['title']]).toStrictEqual([400, 'An error occurred'])
  })

  test('204: deleted, once', async () => {
    const owner = await withMail()
    const path = `/messages/${owner.message.id}`
    const { token } = owner
    await call(path, { method: 'PATCH', token, body: { seen: true } })
    const deleted = await call(path, { method: 'DELETE', token })
    expect([deleted.status, deleted.text]).toStrictEqual([204, ''])
    expect(await list(token)).toStrictEqual([])
    for (const method of ['GET', 'DELETE', 'PATCH']) {
      const body = method === 'PATCH' ? { body: { seen: true } } : {}
      expect((await call(path, { method, token, ...body })).status, method).toBe(404)
    }
  })

  test('503: not deleted, if its mark cannot be', async () => {
    const server = await openTestServer({
      env: { MAYFLY_DOORS: 'mailtm' },
      storeOverrides: { saveSeen: () => Promise.reject(new StoreUnavailable()) },
    })
    try {
      const client = mailTmClient(server.url)
      const { address, token } = await client.account()
      await server.mail(address)
      const messages = async () => (await client.call('/messages', { token })).list
      const [message] = await messages()
      const path = `/messages/${message?.['id']}`
      expect((await client.call(path, { method: 'DELETE', token })).status).toBe(503)
      expect(await messages()).toHaveLength(1)
    } finally {
      await server.stop()
    }
  })

  test('200: its source, its download and its attachment', async () => {
    const owner = await withMail()
    const { id } = owner.message
    const { token } = owner
    const raw = mail(owner.address)
    const download = await call(`/messages/${id}/download`, { token })
    expect(download.headers.get('content-type')).toBe('message/rfc822')
    expect(download.text.endsWith(raw)).toBe(true)
    const { body } = await call(`/sources/${id}`, { token })
    expect(body).toStrictEqual({
      ...{ id, downloadUrl: `/messages/${id}/download` },
      data: download.text,
    })
    const file = await call(`/messages/${id}/attachment/ATTACH000001`, { token })
    expect([file.status, file.text]).toStrictEqual([200, '1,2\n'])
    expect(file.headers.get('content-disposition')).toMatch(/^attachment; filename="a\.csv"/)
    for (const other of ['ATTACH000002', 'ATTACH000000', '0', 'x']) {
      expect((await call(`/messages/${id}/attachment/${other}`, { token })).status).toBe(404)
    }
  })
})

describe('the id of a message in another account is treated as unknown', () => {
  for (const [method, path] of [
    ['GET', '/messages/ID'],
    ['PATCH', '/messages/ID'],
    ['DELETE', '/messages/ID'],
    ['GET', '/messages/ID/download'],
    ['GET', '/messages/ID/attachment/ATTACH000001'],
    ['GET', '/sources/ID'],
  ] as const) {
    test(`${method} ${path}`, async () => {
      const [ann, bob] = [await account(), await withMail()]
      const send = (id: string, token?: string) =>
        call(path.replace('ID', id), {
          ...{ method, ...(token !== undefined && { token }) },
          ...(method === 'PATCH' && { body: { seen: true } }),
        })
      const foreign = await send(bob.message.id, ann.token)
      const unknown = await send('0000000000000000000000ff', ann.token)
      expect([foreign.status, foreign.body]).toStrictEqual([404, unknown.body])
      expect((await send('nonsense', ann.token)).body).toStrictEqual(unknown.body)
      expect((await send(bob.message.id)).status, 'without a token').toBe(401)
      expect(await list(bob.token), 'it is still there, as it was').toMatchObject([{ seen: false }])
    })
  }

  test('a session of our own API and an account read only their own mail', async () => {
    const [session, owner] = [await app.session({ domain: 'box.test' }), await withMail()]
    expect(await app.mail(session.email)).toBe(250)
    const listed = await fetch(`${app.url}/api/check-mail?token=${session.token}`)
    const { messages } = (await listed.json()) as { messages: { id: number }[] }
    const id = (messages[0]?.id ?? 0).toString(16).padStart(24, '0')
    expect((await call(`/messages/${id}`, { token: owner.token })).status).toBe(404)
    expect(await list(owner.token)).toHaveLength(1)
  })
})
