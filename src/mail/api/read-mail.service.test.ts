import assert from 'node:assert/strict'
import { beforeAll, describe, onTestFinished, test } from 'vitest'
import { type App, sharedApp } from '../../../test/support/app.ts'
import { post, problemFault, request } from '../../../test/support/http-client.ts'
import { openTestServer } from '../../../test/support/http-server.ts'
import type { Link, SenderChecks } from '../../shared/mail.ts'
import { mailWith, NO_WAIT, WAIT_FOREVER } from '../testing/codes.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp()
})

/** Sends this mail to a new session; returns its token and message id. */
async function sendMail(lines: string[]) {
  const { email, token } = await app.session()
  assert.equal(await app.mail(email, lines.join('\r\n')), 250)
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
    assert.equal(truncated['truncated'], true)
    assert.match(String(truncated['body_text']), /first/)
    assert.equal(truncated['body_html'], `${DEEP}\n`)
    assert.equal('truncated' in (await messageOf(RICH)), false)
  })

  test('a message has exactly the documented fields', async () => {
    const { token, id } = await sendMail(RICH)
    const { body, headers } = await read(token, id)
    assert.deepEqual(Object.keys(body), ['status', 'message'])
    assert.equal(headers.get('cache-control'), 'no-store')
    const {
      received_at: _at,
      received_at_iso: _iso,
      size,
      ...rest
    } = body['message'] as Record<string, unknown>
    assert.equal(size, RICH.join('\r\n').length)
    const { body_text: text, body_html: html, date, message_id: messageId, ...fields } = rest
    assert.equal(Date.parse(String(date)), Date.UTC(2026, 2, 1, 11))
    assert.match(String(messageId), /^<?rich@sender\.test>?$/)
    assert.equal(String(text).trim(), 'plain')
    assert.equal(String(html).trim(), '<p onclick="x()">html</p>')
    assert.deepEqual(fields, {
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
    assert.match(String(message['body_text']), /Hello you/)
    assert.match(String(message['body_html']), /<b>you<\/b>/)
  })

  test('a plain text mail has no HTML body', async () => {
    const message = await messageOf(['Subject: plain', '', 'hi', ''])
    assert.equal(message['body_html'], null)
    assert.equal(String(message['body_text']).trim(), 'hi')
  })

  test('all header fields are returned, only if requested', async () => {
    const lines = ['X-One: 1', 'X-One: 2', 'Subject: s', '', 'hi', '']
    assert.equal('headers' in (await messageOf(lines)), false)
    assert.equal('headers' in (await messageOf(lines, '&headers=0')), false)
    const { headers } = (await messageOf(lines, '&headers=1')) as {
      headers: { name: string; value: string }[]
    }
    const repeated = headers.filter(({ name }) => name.toLowerCase() === 'x-one')
    assert.deepEqual(
      repeated.map(({ value }) => value),
      ['1', '2'],
    )
  })

  test('concurrent and repeated reads return the same message', async () => {
    const { token, id } = await sendMail(RICH)
    const all = await Promise.all(Array.from({ length: 5 }, () => read(token, id)))
    const later = await read(token, id)
    for (const one of all) assert.deepEqual(one.body, later.body)
  })

  test('a mail without sender, subject and body can be read', async () => {
    const message = await messageOf(['', ''])
    assert.equal(message['subject'], '')
    assert.equal(typeof message['body_text'], 'string')
  })

  test('an id with leading zeros is accepted', async () => {
    const { token, id } = await sendMail(RICH)
    assert.equal((await read(token, String(id).padStart(16, '0'))).status, 200)
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
      assert.deepEqual([response.status, response.body['code']], [400, code], more)
      assert.match(String(response.body['message']), /^id: /)
      assert.equal(problemFault(response), undefined)
    }
  })

  test('an invalid headers parameter is refused', async () => {
    const { token } = await app.session()
    assert.equal((await read(token, 1, '&headers=yes')).body['code'], 'invalid_parameter')
  })
})

describe('401', () => {
  test('an unknown token is refused', async () => {
    const response = await read('A'.repeat(43), 1)
    assert.deepEqual([response.status, response.body['code']], [401, 'invalid_token'])
    assert.equal(problemFault(response), undefined)
  })

  test('an expired session is refused, even if its mail is still stored', async () => {
    const { token, id } = await sendMail(RICH)
    app.moveClock(86_400)
    assert.equal((await read(token, id)).body['code'], 'session_expired')
  })
})

describe('404', () => {
  test('an unknown id is not found', async () => {
    const { token } = await sendMail(RICH)
    const response = await read(token, 1)
    assert.deepEqual([response.status, response.body['code']], [404, 'message_not_found'])
    assert.equal(problemFault(response), undefined)
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
  assert.equal(read.status, 200)
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
    assert.equal(code, '111111')
    assert.deepEqual(codes, [{ value: '111111', kind: 'digits', confidence: 1 }])
    assert.deepEqual(links, [LINK])
  })

  test('the code is returned even if it was not yet in the list', async () => {
    assert.equal((await messageWith({ parse, resultWaitMs: NO_WAIT }))['code'], '111111')
  })

  for (const [name, senderChecks, resultWaitMs, auth] of [
    ['that complete are returned', async () => CHECKS, WAIT_FOREVER, CHECKS],
    ['that cannot run are null', async () => undefined, WAIT_FOREVER, null],
    ['that take too long are null', () => new Promise<never>(() => {}), NO_WAIT, null],
  ] as const) {
    test(`sender checks ${name}`, async () => {
      const message = await messageWith({ parse, senderChecks, resultWaitMs })
      assert.deepEqual(message['auth'], auth)
    })
  }

  test('sender checks run for the message that is read', async () => {
    const checkedIds: number[] = []
    const senderChecks = async ({ id }: { id: number }) => {
      checkedIds.push(id)
      return undefined
    }
    const { id } = await messageWith({ parse, senderChecks })
    assert.deepEqual([...new Set(checkedIds)], [id])
  })
})
