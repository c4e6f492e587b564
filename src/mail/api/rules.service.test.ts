import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import { post, postJson, problemFault, request } from '../../../test/kit/http/http-client.ts'
import { connectSmtp } from '../../../test/kit/smtp/smtp-client.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp()
})

const check = async (token: string) =>
  (await request(`${app.url}/api/check-mail?token=${token}`)).body
const subjects = async (token: string) =>
  ((await check(token))['messages'] as { subject: string }[]).map(({ subject }) => subject)
const mailFrom = (header: string, subject = 'hi') => `${header}Subject: ${subject}\r\n\r\nx\r\n`
const SHOP = 'From: Shop <no-reply@mail.shop.test>\r\n'

/** Sends a mail; returns the last reply. */
async function send(to: string | string[], raw: string): Promise<string> {
  const client = await connectSmtp(app.smtpPort)
  const { code, text } = await client.send({ to: [to].flat(), raw, from: 'any@envelope.test' })
  client.close()
  return `${code} ${/\d\.\d\.\d/.exec(text)?.[0]}`
}

describe('rules', () => {
  test('are returned by check-mail, if there are any', async () => {
    const rules = { only_from: 'Shop.test, ann@other.test', max_messages: '3' }
    const { token } = await app.session(rules)
    expect((await check(token))['rules']).toStrictEqual({
      only_from: ['shop.test', 'ann@other.test'],
      max_messages: 3,
      refused: 0,
    })
    const { token: limited } = await app.session({ max_messages: '1' })
    expect((await check(limited))['rules']).toStrictEqual({
      only_from: [],
      max_messages: 1,
      refused: 0,
    })
    expect('rules' in (await check((await app.session()).token))).toBe(false)
  })

  for (const [name, value] of [
    ['only_from', '@shop.test'],
    ['only_from', Array.from({ length: 11 }, (_, at) => `s${at}.test`).join()],
    ['max_messages', '0'],
    ['max_messages', '1001'],
  ] as const) {
    test(`${name}=${value.slice(0, 20)} is refused with 400`, async () => {
      const response = await post(`${app.url}/api/create-session`, { [name]: value })
      expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
      expect(String(response.body['message']).startsWith(`${name}:`)).toBeTruthy()
    })
  }
})

describe('only_from', () => {
  for (const [name, header, reply] of [
    ['a sender of the domain is accepted', SHOP, '250 2.0.0'],
    ['the first mailbox of the header counts', 'From: a@shop.test, b@evil.test\r\n', '250 2.0.0'],
    ['another sender is refused', 'From: a@evil.test\r\n', '550 5.7.1'],
    ['a similar domain is refused', 'From: a@notshop.test\r\n', '550 5.7.1'],
    [
      'a name that looks like the sender is refused',
      'From: "a@shop.test" <a@evil.test>\r\n',
      '550 5.7.1',
    ],
    ['a mail with two From headers is refused', `${SHOP}${SHOP}`, '550 5.7.1'],
    ['a second From header after the subject is seen', `${SHOP}Subject: a\r\n${SHOP}`, '550 5.7.1'],
    ['a mail without a From header is refused', '', '550 5.7.1'],
    ['a Sender header does not count', 'Sender: a@shop.test\r\n', '550 5.7.1'],
  ] as const) {
    test(name, async () => {
      const { email, token } = await app.session({ only_from: 'shop.test' })
      expect(await send(email, mailFrom(header))).toBe(reply)
      expect((await subjects(token)).length).toBe(reply.startsWith('250') ? 1 : 0)
    })
  }

  test('the envelope sender does not count', async () => {
    const { email } = await app.session({ only_from: 'envelope.test' })
    expect(await send(email, mailFrom(SHOP))).toBe('550 5.7.1')
  })

  test('recipients of one mail have different rules: 250 if one accepts it', async () => {
    const strict = await app.session({ only_from: 'other.test' })
    const open = await app.session()
    const shop = await app.session({ only_from: 'shop.test', max_messages: '1' })
    const all = [strict, open, shop]
    const to = all.map(({ email }) => email)
    expect(await send(to, mailFrom(SHOP, 'one'))).toBe('250 2.0.0')
    const received = await Promise.all(all.map(({ token }) => subjects(token)))
    expect(received).toStrictEqual([[], ['one'], ['one']])
    expect(await send([strict.email, open.email], mailFrom(SHOP, 'two'))).toBe('250 2.0.0')
    expect(await subjects(open.token)).toStrictEqual(['two', 'one'])
  })
})

test('test mail follows the rules: 403 if they refuse it', async () => {
  const sendTest = (token: string) => post(`${app.url}/api/send-test`, { token })
  const { token: limited } = await app.session({ max_messages: '1' })
  expect((await sendTest(limited)).status).toBe(200)
  expect(await subjects(limited)).toStrictEqual(['Test message'])
  const { token: strict } = await app.session({ only_from: 'shop.test' })
  for (const token of [limited, strict]) {
    const response = await sendTest(token)
    expect([response.status, response.body['code']]).toStrictEqual([403, 'not_allowed'])
    expect(problemFault(response)).toBeUndefined()
  }
})

describe('max_messages', () => {
  test('the mail after the last is refused at RCPT; what was stored stays', async () => {
    const { email, token } = await app.session({ max_messages: '1' })
    expect('full' in (await check(token))).toBe(false)
    expect(await send(email, mailFrom(SHOP, 'one'))).toBe('250 2.0.0')
    expect(await send(email, mailFrom(SHOP, 'two'))).toBe('550 5.2.1')
    expect((await check(token))['full']).toBe(true)
    expect(await subjects(token)).toStrictEqual(['one'])
    const messages = (await check(token))['messages'] as { id: number }[]
    await post(`${app.url}/api/delete-mail`, { token, id: String(messages[0]?.id) })
    expect(await send(email, mailFrom(SHOP, 'three'))).toBe('550 5.2.1')
    expect((await check(token))['full']).toBe(true)
  })

  test('a revived session keeps its rules and counts anew', async () => {
    const rules = { only_from: ['shop.test'], max_messages: 1, refused: 0 }
    const { email, token } = await app.session({
      only_from: 'shop.test',
      max_messages: '1',
      ttl: '60',
    })
    expect(await send(email, mailFrom(SHOP, 'before'))).toBe('250 2.0.0')
    app.moveClock(61)
    expect(await send(email, mailFrom(SHOP, 'expired'))).toBe('550 5.1.1')
    expect((await post(`${app.url}/api/extend-session`, { token })).status).toBe(200)
    const revived = await check(token)
    expect([revived['rules'], 'full' in revived]).toStrictEqual([rules, false])
    expect(await send(email, mailFrom('From: a@evil.test\r\n'))).toBe('550 5.7.1')
    expect(await send(email, mailFrom(SHOP, 'after'))).toBe('250 2.0.0')
    expect(await send(email, mailFrom(SHOP, 'too many'))).toBe('550 5.2.1')
    expect(await subjects(token)).toStrictEqual(['after'])
  })

  test('of ten connections that passed RCPT, one delivers the last message', async () => {
    const { email, token } = await app.session({ max_messages: '1' })
    const clients = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const client = await connectSmtp(app.smtpPort)
        await client.command('EHLO sender.test')
        await client.command('MAIL FROM:<a@shop.test>')
        expect((await client.command(`RCPT TO:<${email}>`)).code).toBe(250)
        expect((await client.command('DATA')).code).toBe(354)
        return client
      }),
    )
    const replies = await Promise.all(clients.map((client) => client.command(`${mailFrom(SHOP)}.`)))
    for (const client of clients) client.close()
    const codes = replies.map(({ code, text }) => `${code} ${/\d\.\d\.\d/.exec(text)?.[0]}`)
    expect(codes.toSorted()).toStrictEqual(['250 2.0.0', ...Array(9).fill('550 5.2.1')])
    expect((await subjects(token)).length).toBe(1)
  })
})

describe('update-session', () => {
  const update = (token: string, params: Record<string, string>) =>
    post(`${app.url}/api/update-session`, { token, ...params })

  test('200: what is given changes, the rest stays, and check-mail says so with a new ETag', async () => {
    const { email, token } = await app.session({ only_from: 'shop.test', label: 'before' })
    const list = () => request(`${app.url}/api/check-mail?token=${token}`)
    const before = (await list()).headers.get('etag')
    const { status, body } = await update(token, { max_messages: '2', label: 'after' })
    expect(status).toBe(200)
    const settings = { rules: { only_from: ['shop.test'], max_messages: 2 }, label: 'after' }
    expect(body).toMatchObject({ status: 'success', email, ...settings })
    const { headers, body: listed } = await list()
    expect(listed).toMatchObject(settings)
    expect(headers.get('etag')).not.toBe(before)
    expect((await update(token, { clear: 'label, only_from' })).body['rules']).toStrictEqual({
      only_from: [],
      max_messages: 2,
      refused: 0,
    })
    expect(Object.keys(await check(token))).not.toContain('label')
    await postJson(
      `${app.url}/api/update-session`,
      JSON.stringify({ token, clear: ['max_messages'] }),
    )
    expect(Object.keys(await check(token))).not.toContain('rules')
  })

  test('new rules apply to the next mail', async () => {
    const { email, token } = await app.session()
    const evil = mailFrom('From: a@evil.test\r\n')
    const replies = [await send(email, evil)]
    await update(token, { only_from: 'shop.test' })
    replies.push(await send(email, evil), await send(email, mailFrom(SHOP)))
    await update(token, { clear: 'only_from', max_messages: '2' })
    replies.push(await send(email, mailFrom(SHOP)))
    await update(token, { max_messages: '3' })
    replies.push(await send(email, evil))
    expect((await check(token))['rules']).toMatchObject({ refused: 2 })
    expect(replies).toStrictEqual([
      ...['250 2.0.0', '550 5.7.1', '250 2.0.0'],
      ...['550 5.2.1', '250 2.0.0'],
    ])
  })

  for (const [params, code, message] of [
    [{}, 'missing_parameter', /^only_from, max_messages, label, clear: /],
    [{ clear: 'token' }, 'invalid_parameter', /^clear: /],
    [{ clear: 'label', label: 'x' }, 'invalid_parameter', /^clear: label /],
    [{ max_messages: '0' }, 'invalid_parameter', /^max_messages: /],
    [{ label: 'x'.repeat(61) }, 'invalid_parameter', /^label: /],
    [{ only_from: '@' }, 'invalid_parameter', /^only_from: /],
  ] as const) {
    test(`400: ${JSON.stringify(params).slice(0, 40)}`, async () => {
      const response = await update((await app.session()).token, params)
      expect([response.status, response.body['code']]).toStrictEqual([400, code])
      expect(String(response.body['message'])).toMatch(message)
      expect(problemFault(response)).toBeUndefined()
    })
  }

  test('401: an unknown or expired token', async () => {
    const { token } = await app.session({ ttl: '60' })
    app.moveClock(61)
    expect((await update(token, { label: 'x' })).body['code']).toBe('session_expired')
    expect((await update('x'.repeat(43), { label: 'x' })).body['code']).toBe('invalid_token')
  })
})
