import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventStreamParser } from '../src/shared/event-stream-parser.ts'
import { WAIT_FOR_EXTRACTION, WITHOUT_POLLING } from './kit/app/app.ts'
import { request } from './kit/http/http-client.ts'
import { type AppWithKeys, startAppWithKeys } from './kit/shop/keys.ts'

// From the SMTP socket to the HTTP socket, with the real parser in its child process.

const codeMail = (code: string) =>
  `From: Bank <no-reply@bank.test>\r\nSubject: Sign in\r\n\r\nYour verification code is ${code}.\r\n`
const PLAIN_MAIL = 'From: ann@sender.test\r\nSubject: Lunch\r\n\r\nSee you on Monday.\r\n'

interface Summary {
  id: number
  code: string | null
}

let app: AppWithKeys
const opened = (resultWait: { resultWaitMs: number }) => async () => {
  app = await startAppWithKeys({ ...resultWait, intervals: WITHOUT_POLLING })
}
const check = async (token: string, more = '', headers: Record<string, string> = {}) => {
  const response = await request(`${app.url}/api/check-mail?token=${token}${more}`, { headers })
  const messages = (response.body['messages'] ?? []) as Summary[]
  return {
    ...response,
    etag: response.headers.get('etag') ?? '',
    codes: messages.map(({ code }) => code),
  }
}

/** The events of a session, parsed. */
async function openEvents(token: string) {
  const stop = new AbortController()
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${app.url}/api/events`, { headers, signal: stop.signal })
  const events = parseEvents(response)
  return {
    async next(): Promise<{ name: string; message: Summary }> {
      const { value } = await events.next()
      expect.assert(value)
      return { name: value.name, message: JSON.parse(value.data) as Summary }
    },
    end: () => stop.abort(),
  }
}

/** Keeps the response: if that is garbage before its body is read, Node.js cancels the body. */
async function* parseEvents(response: Response) {
  const parse = eventStreamParser()
  for await (const chunk of response.body ?? []) yield* parse(chunk)
}

describe('when responses wait for extraction', () => {
  beforeAll(opened(WAIT_FOR_EXTRACTION))
  afterAll(() => app.stop())

  test('list, event and message have the same code', async () => {
    const { email, token } = await app.session()
    const stream = await openEvents(token)
    expect(await app.mail(email, codeMail('482913'))).toBe(250)
    const { name, message } = await stream.next()
    expect([name, message.code]).toStrictEqual(['message', '482913'])
    const { codes } = await check(token)
    expect(codes).toStrictEqual(['482913'])
    const { body } = await request(`${app.url}/api/read-mail?token=${token}&id=${message.id}`)
    const read = body['message'] as Summary & { codes: { value: string }[] }
    expect([read.code, read.codes[0]?.value]).toStrictEqual(['482913', '482913'])
    stream.end()
  })

  test('every recipient of a mail gets its code', async () => {
    const sessions = [await app.session(), await app.session()]
    const to = sessions.map(({ email }) => email)
    expect(await app.mail(to, codeMail('482913'))).toBe(250)
    for (const { token } of sessions) expect((await check(token)).codes).toStrictEqual(['482913'])
  })

  test('a mail without a code has the code null, and its ETag changes no more', async () => {
    const { email, token } = await app.session()
    await app.mail(email, PLAIN_MAIL)
    const { codes, etag } = await check(token)
    expect(codes).toStrictEqual([null])
    expect((await check(token, '', { 'if-none-match': etag })).status).toBe(304)
  })
})

describe('when responses do not wait for extraction', () => {
  beforeAll(opened({ resultWaitMs: 0 }))
  afterAll(() => app.stop())

  test('the code is delivered by an update event and changes the ETag of the list', async () => {
    const { email, token } = await app.session()
    const stream = await openEvents(token)
    await app.mail(email, codeMail('482913'))
    const first = await stream.next()
    expect([first.name, first.message.code]).toStrictEqual(['message', null])
    const second = await stream.next()
    const scanned = { preview: 'Your verification code is 482913.', attachments: 0 }
    expect(second).toStrictEqual({
      name: 'updated',
      message: { ...first.message, code: '482913', ...scanned },
    })
    expect((await check(token)).codes).toStrictEqual(['482913'])
    stream.end()
  })

  test('a long poll is answered when the code is found', async () => {
    const { email, token } = await app.session()
    await app.mail(email, codeMail('482913'))
    let { codes, etag } = await check(token)
    for (let polls = 0; codes[0] === null && polls < 5; polls += 1) {
      ;({ codes, etag } = await check(token, '&wait=55', { 'if-none-match': etag }))
    }
    expect(codes).toStrictEqual(['482913'])
  })

  test('a code found later does not change the ETag of /emails and is not charged', async () => {
    const key = await app.ring.issue()
    const { email, token } = await app.session({}, key.headers)
    await app.mail(email, codeMail('482913'))
    const read = await request(`${app.url}/emails`, { headers: key.headers })
    expect(read.status).toBe(200)
    const used = await app.ring.used(key)
    const stream = await openEvents(token)
    let { codes, etag } = await check(token)
    for (let polls = 0; codes[0] === null && polls < 5; polls += 1) {
      ;({ codes, etag } = await check(token, '&wait=55', { 'if-none-match': etag }))
    }
    const again = { ...key.headers, 'if-none-match': read.headers.get('etag') ?? '' }
    expect((await request(`${app.url}/emails`, { headers: again })).status).toBe(304)
    expect(await app.ring.used(key)).toBe(used)
    stream.end()
  })
})
