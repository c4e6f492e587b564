import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import { post, problemFault, request } from '../../../test/kit/http/http-client.ts'
import { openTestServer } from '../../../test/kit/http/http-server.ts'
import type { Link, SenderChecks } from '../../shared/mail.ts'
import { mailWith, NO_WAIT, WAIT_FOREVER } from '../testing/codes.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp()
})

/** Sends this mail to a new session; returns its token and message id. */
async function sendMail(lines: string[]) {
  const { email, token } = await app.session()
  expect(await app.mail(email, lines.join('\r\n'))).toBe(250)
  const { body } = await request(`${app.url}/api/check-mail?token=${token}`)
  const [{ id } = { id: 0 }] = body['messages'] as { id: number }[]
  return { token, id, email }
}

const read = (token: string, id: number | string, more = '') =>
  request(`${app.url}/api/read-mail?token=${token}&id=${id}${more}`)
const messageOf = async (lines: string[], more = '') => {
  const { token, id } = await sendMail(lines)
  return (await read(token, id, more)).body['message'] as Record<string, unknown>
}

/** Deeply nested quotes around many lines: rendering all of them would take more than a second. */
const DEEP = `${'<blockquote>'.repeat(200)}first${'<br>y'.repeat(19_000)}`

const RICH = [
  'From: =?utf-8?Q?Ann_S=C3=A9nder?= <ann@sender.test>',
  'To: You <you@box.test>, two@box.test',
  'Cc: Third <three@box.test>',
  'Reply-To: back@sender.test',
  'Subject: Rich',
  'Message-ID: <rich@sender.test>',
  'Date: Sun, 01 Mar 2026 12:00:00 +0100',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: multipart/alternative; boundary=c',
  '',
  '--c',
  'Content-Type: text/plain; charset=utf-8',
  '',
  'plain',
  '--c',
  'Content-Type: text/html; charset=utf-8',
  '',
  '<p onclick="x()">html</p>',
  '--c--',
  '--b',
  'Content-Type: image/png; name="dot.png"',
  'Content-Disposition: attachment; filename="dot.png"',
  'Content-Transfer-Encoding: base64',
  '',
  'iVBORw0KGgo=',
  '--b--',
  '',
]

describe('200', () => {
  test('text truncated by a parsing limit is marked, other text is not', async () => {
    const truncated = await messageOf(['Subject: deep', 'Content-Type: text/html', '', DEEP, ''])
    expect(truncated['truncated']).toBe(true)
    expect(String(truncated['body_text'])).toMatch(/first/)
    expect(truncated['body_html']).toBe(`${DEEP}\n`)
    expect('truncated' in (await messageOf(RICH))).toBe(false)
  })

  test('a message has exactly the documented fields', async () => {
    const { token, id } = await sendMail(RICH)
    const { body, headers } = await read(token, id)
    expect(Object.keys(body)).toStrictEqual(['status', 'message'])
    expect(headers.get('cache-control')).toBe('no-store')
    const {
      received_at: _at,
      received_at_iso: _iso,
      size,
      ...rest
    } = body['message'] as Record<string, unknown>
    expect(size).toBe(RICH.join('\r\n').length)
    const { body_text: text, body_html: html, date, message_id: messageId, ...fields } = rest
    expect(Date.parse(String(date))).toBe(Date.UTC(2026, 2, 1, 11))
    expect(String(messageId)).toMatch(/^<?rich@sender\.test>?$/)
    expect(String(text).trim()).toBe('plain')
    expect(String(html).trim()).toBe('<p onclick="x()">html</p>')
    expect(fields).toStrictEqual({
      id,
      sender_name: 'Ann Sénder',
      sender_email: 'ann@sender.test',
      subject: 'Rich',
      to: [
        { name: 'You', address: 'you@box.test' },
        { name: '', address: 'two@box.test' },
      ],
      cc: [{ name: 'Third', address: 'three@box.test' }],
      reply_to: [{ name: '', address: 'back@sender.test' }],
      attachments: [
        {
          index: 0,
          filename: 'dot.png',
          content_type: 'image/png',
          size: 8,
          content_id: null,
          inline: false,
          url: `/api/attachment?id=${id}&index=0`,
        },
      ],
      code: null,
      codes: [],
      links: [],
      auth: null,
      raw_url: `/api/raw-mail?id=${id}`,
    })
  })

  test('text is converted from HTML if there is no text part', async () => {
    const message = await messageOf(['Content-Type: text/html', '', '<p>Hello <b>you</b></p>', ''])
    expect(String(message['body_text'])).toMatch(/Hello you/)
    expect(String(message['body_html'])).toMatch(/<b>you<\/b>/)
  })

  test('a plain text mail has no HTML body', async () => {
    const message = await messageOf(['Subject: plain', '', 'hi', ''])
    expect(message['body_html']).toBe(null)
    expect(String(message['body_text']).trim()).toBe('hi')
  })

  test('all header fields are returned, only if requested', async () => {
    const lines = ['X-One: 1', 'X-One: 2', 'Subject: s', '', 'hi', '']
    expect('headers' in (await messageOf(lines))).toBe(false)
    expect('headers' in (await messageOf(lines, '&headers=0'))).toBe(false)
    const { headers } = (await messageOf(lines, '&headers=1')) as {
      headers: { name: string; value: string }[]
    }
    const repeated = headers.filter(({ name }) => name.toLowerCase() === 'x-one')
    expect(repeated.map(({ value }) => value)).toStrictEqual(['1', '2'])
  })

  test('concurrent and repeated reads return the same message', async () => {
    const { token, id } = await sendMail(RICH)
    const all = await Promise.all(Array.from({ length: 5 }, () => read(token, id)))
    const later = await read(token, id)
    for (const one of all) expect(one.body).toStrictEqual(later.body)
  })

  test('a mail without sender, subject and body can be read', async () => {
    const message = await messageOf(['', ''])
    expect(message['subject']).toBe('')
    expect(typeof message['body_text']).toBe('string')
  })

  test('an id with leading zeros is accepted', async () => {
    const { token, id } = await sendMail(RICH)
    expect((await read(token, String(id).padStart(16, '0'))).status).toBe(200)
  })
})

describe('400', () => {
  test('a missing or invalid id is refused', async () => {
    const { token } = await app.session()
    for (const [more, code] of [
      ['', 'missing_parameter'],
      ['&id=', 'missing_parameter'],
      ['&id[]=1', 'invalid_parameter'],
      ['&id=1&id=2', 'invalid_parameter'],
      ['&id=%D9%A1', 'invalid_parameter'],
      ['&id=1%00', 'invalid_parameter'],
      ['&id=9007199254740993', 'invalid_parameter'],
    ] as const) {
      const response = await request(`${app.url}/api/read-mail?token=${token}${more}`)
      expect([response.status, response.body['code']], more).toStrictEqual([400, code])
      expect(String(response.body['message'])).toMatch(/^id: /)
      expect(problemFault(response)).toBeUndefined()
    }
  })

  test('an invalid headers parameter is refused', async () => {
    const { token } = await app.session()
    expect((await read(token, 1, '&headers=yes')).body['code']).toBe('invalid_parameter')
  })
})

describe('401', () => {
  test('an unknown token is refused', async () => {
    const response = await read('A'.repeat(43), 1)
    expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
    expect(problemFault(response)).toBeUndefined()
  })

  test('an expired session is refused, even if its mail is still stored', async () => {
    const { token, id } = await sendMail(RICH)
    app.moveClock(86_400)
    expect((await read(token, id)).body['code']).toBe('session_expired')
  })
})

describe('404', () => {
  test('an unknown id is not found', async () => {
    const { token } = await sendMail(RICH)
    const response = await read(token, 1)
    expect([response.status, response.body['code']]).toStrictEqual([404, 'message_not_found'])
    expect(problemFault(response)).toBeUndefined()
  })
})

/** The message read-mail returns. */
async function messageWith(options: Parameters<typeof openTestServer>[0]) {
  const server = await openTestServer(options)
  onTestFinished(() => server.stop())
  const created = await post(`${server.url}/api/create-session`, {})
  const { email, token } = created.body as { email: string; token: string }
  await server.mail(email)
  const { body } = await request(`${server.url}/api/check-mail?token=${token}`)
  const [{ id } = { id: 0 }] = body['messages'] as { id: number }[]
  const read = await request(`${server.url}/api/read-mail?token=${token}&id=${id}`)
  expect(read.status).toBe(200)
  return read.body['message'] as Record<string, unknown>
}

const LINK: Link = {
  url: 'https://sender.test/verify?t=1',
  text: 'Confirm',
  host: 'sender.test',
  kind: 'verify',
}
const CHECKS: SenderChecks = { spf: 'pass', dkim: 'none', dmarc: 'fail' }
const parse = async () => ({ ...mailWith('111111'), links: [LINK] })

describe('200', () => {
  test('codes and links are returned, with the most likely code as code', async () => {
    const { code, codes, links } = await messageWith({ parse, resultWaitMs: WAIT_FOREVER })
    expect(code).toBe('111111')
    expect(codes).toStrictEqual([{ value: '111111', kind: 'digits', confidence: 1 }])
    expect(links).toStrictEqual([LINK])
  })

  test('the code is returned even if it was not yet in the list', async () => {
    expect((await messageWith({ parse, resultWaitMs: NO_WAIT }))['code']).toBe('111111')
  })

  for (const [name, senderChecks, resultWaitMs, auth] of [
    ['that complete are returned', async () => CHECKS, WAIT_FOREVER, CHECKS],
    ['that cannot run are null', async () => undefined, WAIT_FOREVER, null],
    ['that take too long are null', () => new Promise<never>(() => {}), NO_WAIT, null],
  ] as const) {
    test(`sender checks ${name}`, async () => {
      const message = await messageWith({ parse, senderChecks, resultWaitMs })
      expect(message['auth']).toStrictEqual(auth)
    })
  }

  test('sender checks run for the message that is read', async () => {
    const checkedIds: number[] = []
    const senderChecks = async ({ id }: { id: number }) => {
      checkedIds.push(id)
      return undefined
    }
    const { id } = await messageWith({ parse, senderChecks })
    expect([...new Set(checkedIds)]).toStrictEqual([id])
  })
})
