import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../../../test/kit/app/app.ts'
import { checkMail } from '../../../test/kit/http/api-client.ts'
import { problemFault, request } from '../../../test/kit/http/http-client.ts'
import { PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import { parseAddress } from '../../base/address.ts'
import { parseMail } from '../../mime/parse.ts'
import { traceLines } from './downloads.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ env: { ...PROXY_ENV, MAYFLY_SMTP_HOSTNAME: 'mx.box.test' } })
})
afterAll(() => app.stop())

async function sendMail(raw: string | Uint8Array) {
  const session = await app.session()
  expect.assert((await app.mail(session.email, raw)) === 250)
  const [{ id } = { id: 0 }] = await checkMail(app.url, session.token)
  return { ...session, id }
}

const download = async ({ token, id }: { token: string; id: number }) => {
  const response = await fetch(`${app.url}/api/raw-mail?token=${token}&id=${id}`)
  return { response, bytes: Buffer.from(await response.arrayBuffer()) }
}

describe('200', () => {
  test('three trace fields precede the original bytes', async () => {
    const raw = Buffer.concat([
      Buffer.from('Subject: bytes\r\n\r\n'),
      Buffer.from(
        Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => byte !== 10 && byte !== 13),
      ),
      Buffer.from('\r\n..two dots\r\n.x\r\n'),
    ])
    const mail = await sendMail(raw)
    const { response, bytes } = await download(mail)
    const traceHeader = bytes
      .subarray(0, bytes.length - raw.length)
      .toString()
      .split('\r\n')
    expect(bytes.subarray(bytes.length - raw.length)).toStrictEqual(raw)
    expect(traceHeader[0] ?? '').toMatch(/^Return-Path: <[^<>]*>$/)
    expect.assert(traceHeader[1] === `Delivered-To: ${mail.email}`)
    expect(traceHeader[2] ?? '').toMatch(/^Received: from \S+ \(\[127\.0\.0\.1\]\)$/)
    expect(traceHeader[3] ?? '').toMatch(/^\tby mx\.box\.test with E?SMTP$/)
    expect(traceHeader[4] ?? '').toMatch(
      /^\tid [a-z0-9]+ for <[^>]+>; \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000$/,
    )
    expect(traceHeader.slice(5)).toStrictEqual([''])
    expect(response.headers.get('content-length')).toBe(String(bytes.length))
  })

  test('the mail is a download that is neither rendered nor cached', async () => {
    const mail = await sendMail('Subject: x\r\n\r\n<script>alert(1)</script>\r\n')
    const { headers } = (await download(mail)).response
    expect.assert(headers.get('content-type') === 'message/rfc822')
    expect(headers.get('content-disposition') ?? '').toMatch(
      new RegExp(`^attachment; filename="message-${mail.id}\\.eml"`),
    )
    expect(headers.get('content-security-policy')).toBe("sandbox; default-src 'none'")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('no-store')
  })

  test('raw_url of read-mail returns the raw mail', async () => {
    const mail = await sendMail('Subject: x\r\n\r\nhi\r\n')
    const { body } = await request(`${app.url}/api/read-mail?token=${mail.token}&id=${mail.id}`)
    const { raw_url: url } = body['message'] as { raw_url: string }
    const headers = { authorization: `Bearer ${mail.token}` }
    expect((await request(`${app.url}${url}`, { headers })).text).toMatch(
      /Subject: x\r\n\r\nhi\r\n$/,
    )
  })

  test('HEAD returns Content-Length', async () => {
    const { token, id } = await sendMail('Subject: x\r\n\r\nhi\r\n')
    const url = `${app.url}/api/raw-mail?token=${token}&id=${id}`
    const head = await request(url, { method: 'HEAD' })
    expect.assert(head.headers.get('content-length') === String((await request(url)).text.length))
    expect.assert(head.text === '')
  })
})

describe('400', () => {
  test('a missing id is refused', async () => {
    const { token } = await app.session()
    const response = await request(`${app.url}/api/raw-mail?token=${token}`)
    expect([response.status, response.body['code']]).toStrictEqual([400, 'missing_parameter'])
    expect(problemFault(response)).toBeUndefined()
  })
})

describe('401', () => {
  test('an unknown token and an expired session are refused', async () => {
    expect.assert(
      (await request(`${app.url}/api/raw-mail?token=x&id=1`)).body['code'] === 'invalid_token',
    )
    const mail = await sendMail('Subject: x\r\n\r\nhi\r\n')
    app.moveClock(86_400)
    const response = await request(`${app.url}/api/raw-mail?token=${mail.token}&id=${mail.id}`)
    expect([response.status, response.body['code']]).toStrictEqual([401, 'session_expired'])
  })
})

describe('404', () => {
  test('an unknown message is not found', async () => {
    const { token, id } = await sendMail('Subject: x\r\n\r\nhi\r\n')
    const response = await request(`${app.url}/api/raw-mail?token=${token}&id=${id + 1}`)
    expect([response.status, response.body['code']]).toStrictEqual([404, 'message_not_found'])
    expect(problemFault(response)).toBeUndefined()
  })
})

const recipient = parseAddress('ann@box.test')
expect.assert(recipient)
const receivedAt = new Date('2026-03-01T02:03:04Z')
const message = {
  id: 36,
  rawId: 1,
  recipient,
  size: 1,
  senderName: '',
  senderEmail: '',
  subject: '',
  receivedAt,
  code: undefined,
  preview: undefined,
  attachments: undefined,
  links: undefined,
}
const raw = {
  bytes: new Uint8Array(),
  receivedAt,
  clientIp: '192.0.2.1',
  helo: 'sender.test',
  mailFrom: 'bob@sender.test',
  tls: undefined as string | undefined,
  protocol: 'ESMTP',
}

test('a mail received over SMTP has three trace fields', () => {
  expect.assert(
    traceLines(message, raw, 'mx.box.test') ===
      [
        'Return-Path: <bob@sender.test>',
        'Delivered-To: ann@box.test',
        'Received: from sender.test ([192.0.2.1])',
        '\tby mx.box.test with ESMTP',
        '\tid 10 for <ann@box.test>; Sun, 01 Mar 2026 02:03:04 +0000',
        '',
      ].join('\r\n'),
  )
})

test('trace fields include IPv6, TLS and an empty sender', () => {
  const lines = traceLines(
    message,
    {
      ...raw,
      clientIp: '2001:db8::1',
      tls: 'TLSv1.3 TLS_AES_256_GCM_SHA384',
      mailFrom: '',
      protocol: 'ESMTPS',
    },
    'mx.box.test',
  )
  expect(lines).toMatch(/^Return-Path: <>\r\n/)
  expect(lines).toMatch(/\(\[IPv6:2001:db8::1\]\)\r\n/)
  expect(lines).toMatch(/with ESMTPS \(TLSv1\.3 TLS_AES_256_GCM_SHA384\)\r\n/)
})

test('mail fetched over IMAP has no client in Received and no additional Return-Path', () => {
  const fetched = { ...raw, clientIp: '', helo: '', protocol: 'IMAP' }
  expect.assert(
    traceLines(message, fetched, 'mx.box.test') ===
      [
        'Delivered-To: ann@box.test',
        'Received: by mx.box.test with IMAP',
        '\t(fetched from a mail account, which took it at this time)',
        '\tid 10 for <ann@box.test>; Sun, 01 Mar 2026 02:03:04 +0000',
        '',
      ].join('\r\n'),
  )
})

describe('after the trace fields, the mail is what it was', () => {
  for (const [name, mail] of [
    ['with a header', 'Subject: s\r\n\r\nhi\r\n'],
    ['with a blank before its first line', ' first\r\n\tsecond\r\nSubject: s\r\n\r\nhi\r\n'],
    ['with a tab before its first line', '\tfirst\nSubject: s\n\nhi\n'],
    ['with a line that is no field', 'From ann\r\nSubject: s\r\n\r\nhi\r\n'],
    ['with an empty header', '\r\nhi\r\n'],
    ['without a header', 'hi\r\nthere\r\n'],
    ['without a header, with a blank first', ' hi\r\nthere\r\n\r\nagain\r\n'],
    ['of one blank', ' '],
    ['of nothing', ''],
  ] as const) {
    for (const protocol of ['ESMTP', 'IMAP']) {
      test(`${name}, ${protocol}`, () => {
        const bytes = Buffer.from(mail)
        const before = traceLines(message, { ...raw, bytes, protocol }, 'mx.box.test')
        const { headers, text } = parseMail(Buffer.from(before + mail))
        const received = headers.findIndex((field) => field.name === 'Received')
        expect(headers[received]?.value ?? '').toMatch(/; Sun, 01 Mar 2026 02:03:04 \+0000$/)
        const ofMail = headers.slice(received + 1)
        expect(ofMail.filter((field) => field.name !== 'X-First-Line')).toStrictEqual(
          parseMail(bytes).headers,
        )
        expect(text?.trim()).toBe(parseMail(bytes).text?.trim())
      })
    }
  }
})

test('a non-ASCII sender is unchanged', () => {
  const mailFrom = 'jörg@bücher.test'
  const lines = traceLines(message, { ...raw, mailFrom, helo: 'bücher.test' }, 'mx.box.test')
  expect(lines).toMatch(/^Return-Path: <jörg@bücher\.test>\r\n/)
  expect(lines).toMatch(/^Received: from b\?cher\.test /m)
})

test('a truncated sender is well-formed Unicode', () => {
  const lines = traceLines(message, { ...raw, mailFrom: `x${'😀'.repeat(200)}` }, 'mx.box.test')
  expect.assert(lines.isWellFormed())
})

for (const hostile of [
  'a\r\nX-Forged: 1',
  'a\nb',
  'a)\r\n\r\nbody',
  'a\0b',
  'a\u2028b',
  '> (',
  'x'.repeat(5_000),
  '',
]) {
  test(`the client name ${JSON.stringify(hostile.slice(0, 20))} cannot add a line`, () => {
    const lines = traceLines(
      message,
      { ...raw, helo: hostile, mailFrom: hostile, tls: hostile, protocol: hostile },
      hostile,
    )
    const rows = lines.split('\r\n')
    expect(rows.length).toBe(6)
    expect(rows.join('')).not.toMatch(/[\r\n\0]/)
    expect(lines).toMatch(/^Return-Path: <[^<>\r\n]*>\r\nDelivered-To: /)
    expect.assert(lines.length < 2_000)
  })
}
