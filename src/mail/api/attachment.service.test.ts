import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import { problemFault, request } from '../../../test/kit/http/http-client.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp()
})

interface Part {
  type: string
  disposition: string
  bytes: string
}

/** Sends a mail with this attachment. */
async function sendMail({ type, disposition, bytes }: Part) {
  const { email, token } = await app.session()
  const lines = [
    'Subject: file',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'see the file',
    '--b',
    `Content-Type: ${type}`,
    `Content-Disposition: ${disposition}`,
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from(bytes, 'latin1').toString('base64'),
    '--b--',
    '',
  ]
  expect(await app.mail(email, lines.join('\r\n'))).toBe(250)
  const { body } = await request(`${app.url}/api/check-mail?token=${token}`)
  const [{ id } = { id: 0 }] = body['messages'] as { id: number }[]
  return { token, id }
}

const fetchAttachment = (
  { token, id }: { token: string; id: number },
  index: number | string = 0,
) => fetch(`${app.url}/api/attachment?token=${token}&id=${id}&index=${index}`)

describe('200', () => {
  test('the attachment URL from read-mail returns the original bytes', async () => {
    const bytes = '\x89PNG\r\n\x1a\n\x00\xff'
    const { token, id } = await sendMail({
      type: 'image/png',
      disposition: 'attachment; filename=dot.png',
      bytes,
    })
    const { body } = await request(`${app.url}/api/read-mail?token=${token}&id=${id}`)
    const [attachment] = (body['message'] as { attachments: { url: string; size: number }[] })
      .attachments
    expect.assert(attachment)
    const response = await fetch(`${app.url}${attachment.url}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(response.status).toBe(200)
    expect(Buffer.from(await response.arrayBuffer()).toString('latin1')).toBe(bytes)
    expect(attachment.size).toBe(bytes.length)
    expect(response.headers.get('content-type')).toBe('image/png')
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  for (const type of [
    'text/html',
    'image/svg+xml',
    'text/xml',
    'application/pdf',
    'message/rfc822',
    'text/html; charset=x',
    'image/png-not',
    'application/xhtml+xml',
  ]) {
    test(`${type} is served as a download, never inline`, async () => {
      const file = await sendMail({
        type,
        disposition: 'attachment; filename=page.html',
        bytes: '<script>alert(1)</script>',
      })
      const { headers, status } = await fetchAttachment(file)
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('application/octet-stream')
      expect(headers.get('content-disposition') ?? '').toMatch(/^attachment; /)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('content-security-policy')).toBe("sandbox; default-src 'none'")
    })
  }

  for (const name of [
    '../../x',
    '..\\\\x',
    '/etc/passwd',
    'C:\\\\x',
    '\\"; filename=evil.html',
    '.htaccess',
    'x'.repeat(1_000),
    'CON',
    '=?utf-8?B?4oCuZ3BqLmV4ZQ==?=',
    '=?utf-8?Q?a=0D=0ASet-Cookie:_b?=',
    '\u{1f98b}.txt',
  ]) {
    test(`the file name ${JSON.stringify(name.slice(0, 40))} cannot break out of its header`, async () => {
      const file = await sendMail({
        type: 'application/zip',
        disposition: `attachment; filename="${name}"`,
        bytes: 'zip',
      })
      const { headers } = await fetchAttachment(file)
      expect(headers.get('content-disposition') ?? '').toMatch(
        /^attachment; filename="[A-Za-z0-9 ._()-]+"; filename\*=UTF-8''[A-Za-z0-9._~%-]+$/,
      )
      expect(headers.get('set-cookie')).toBe(null)
      const exact = decodeURIComponent(headers.get('content-disposition')?.split("''")[1] ?? '')
      expect(exact).not.toMatch(/^\.|[/\\\0\r\n\u202e]/)
    })
  }
})

describe('400', () => {
  test('a missing or invalid index is refused', async () => {
    const file = await sendMail({ type: 'text/csv', disposition: 'attachment', bytes: 'a' })
    for (const [index, code] of [
      ['', 'missing_parameter'],
      ['-1', 'invalid_parameter'],
      ['0&index=0', 'invalid_parameter'],
    ] as const) {
      const response = await fetchAttachment(file, index)
      expect(response.status).toBe(400)
      expect(((await response.json()) as { code: string }).code).toBe(code)
    }
  })
})

describe('401', () => {
  test('an unknown token is refused', async () => {
    const response = await request(`${app.url}/api/attachment?token=x&id=1&index=0`)
    expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
    expect(problemFault(response)).toBeUndefined()
  })
})

describe('404', () => {
  test('an unknown attachment or message is not found', async () => {
    const { token, id } = await sendMail({
      type: 'text/csv',
      disposition: 'attachment',
      bytes: 'a',
    })
    for (const [messageId, index, code] of [
      [id, 1, 'not_found'],
      [id, 9_007_199_254_740_991, 'not_found'],
      [id + 1, 0, 'message_not_found'],
    ] as const) {
      const url = `${app.url}/api/attachment?token=${token}&id=${messageId}&index=${index}`
      const response = await request(url)
      expect([response.status, response.body['code']]).toStrictEqual([404, code])
      expect(problemFault(response)).toBeUndefined()
    }
  })
})
