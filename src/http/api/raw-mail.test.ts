import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { checkMail } from '../../../test/api.ts'
import { type App, startApp } from '../../../test/app.ts'
import { ask, refusalFault } from '../../../test/ask.ts'
import { PROXY_ENV, sharedAnswers } from '../server/route.contract.ts'
import { rawMailRoute } from './raw-mail.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ env: { ...PROXY_ENV, MAYFLY_SMTP_HOSTNAME: 'mx.box.test' } })
})
afterAll(() => app.stop())

async function sent(raw: string | Uint8Array) {
  const session = await app.session()
  assert.equal(await app.mail(session.email, raw), 250)
  const [{ id } = { id: 0 }] = await checkMail(app.url, session.token)
  return { ...session, id }
}

const download = async ({ token, id }: { token: string; id: number }) => {
  const response = await fetch(`${app.url}/api/raw-mail?token=${token}&id=${id}`)
  return { response, bytes: Buffer.from(await response.arrayBuffer()) }
}

describe('200', () => {
  test('our three lines, then every byte as it came', async () => {
    const raw = Buffer.concat([
      Buffer.from('Subject: bytes\r\n\r\n'),
      Buffer.from(
        Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => byte !== 10 && byte !== 13),
      ),
      Buffer.from('\r\n..two dots\r\n.x\r\n'),
    ])
    const mail = await sent(raw)
    const { response, bytes } = await download(mail)
    const ours = bytes
      .subarray(0, bytes.length - raw.length)
      .toString()
      .split('\r\n')
    assert.deepEqual(bytes.subarray(bytes.length - raw.length), raw)
    assert.match(ours[0] ?? '', /^Return-Path: <[^<>]*>$/)
    assert.equal(ours[1], `Delivered-To: ${mail.email}`)
    assert.match(ours[2] ?? '', /^Received: from \S+ \(\[127\.0\.0\.1\]\)$/)
    assert.match(ours[3] ?? '', /^\tby mx\.box\.test with E?SMTP$/)
    assert.match(
      ours[4] ?? '',
      /^\tid [a-z0-9]+ for <[^>]+>; \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000$/,
    )
    assert.deepEqual(ours.slice(5), [''])
    assert.equal(response.headers.get('content-length'), String(bytes.length))
  })

  test('as a download that no browser runs and nobody on the way keeps', async () => {
    const mail = await sent('Subject: x\r\n\r\n<script>alert(1)</script>\r\n')
    const { headers } = (await download(mail)).response
    assert.equal(headers.get('content-type'), 'message/rfc822')
    assert.match(
      headers.get('content-disposition') ?? '',
      new RegExp(`^attachment; filename="message-${mail.id}\\.eml"`),
    )
    assert.equal(headers.get('content-security-policy'), "sandbox; default-src 'none'")
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('cache-control'), 'no-store')
  })

  test('the address that read-mail gives leads here', async () => {
    const mail = await sent('Subject: x\r\n\r\nhi\r\n')
    const { body } = await ask(`${app.url}/api/read-mail?token=${mail.token}&id=${mail.id}`)
    const { raw_url: url } = body['message'] as { raw_url: string }
    const headers = { authorization: `Bearer ${mail.token}` }
    assert.match((await ask(`${app.url}${url}`, { headers })).text, /Subject: x\r\n\r\nhi\r\n$/)
  })

  test('HEAD tells how much it is', async () => {
    const { token, id } = await sent('Subject: x\r\n\r\nhi\r\n')
    const url = `${app.url}/api/raw-mail?token=${token}&id=${id}`
    const head = await ask(url, { method: 'HEAD' })
    assert.equal(head.headers.get('content-length'), String((await ask(url)).text.length))
    assert.equal(head.text, '')
  })
})

describe('400', () => {
  test('no id', async () => {
    const { token } = await app.session()
    const asked = await ask(`${app.url}/api/raw-mail?token=${token}`)
    assert.deepEqual([asked.status, asked.body['code']], [400, 'missing_parameter'])
    assert.equal(refusalFault(asked), undefined)
  })
})

describe('401', () => {
  test('a token that opens nothing, and one whose session is over', async () => {
    assert.equal((await ask(`${app.url}/api/raw-mail?token=x&id=1`)).body['code'], 'invalid_token')
    const mail = await sent('Subject: x\r\n\r\nhi\r\n')
    app.moveClock(86_400)
    const asked = await ask(`${app.url}/api/raw-mail?token=${mail.token}&id=${mail.id}`)
    assert.deepEqual([asked.status, asked.body['code']], [401, 'session_expired'])
  })
})

describe('404', () => {
  test('no such message', async () => {
    const { token, id } = await sent('Subject: x\r\n\r\nhi\r\n')
    const asked = await ask(`${app.url}/api/raw-mail?token=${token}&id=${id + 1}`)
    assert.deepEqual([asked.status, asked.body['code']], [404, 'message_not_found'])
    assert.equal(refusalFault(asked), undefined)
  })
})

sharedAnswers(rawMailRoute, () => app)
