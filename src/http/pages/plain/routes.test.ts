import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type App, startApp } from '../../../../test/support/app.ts'
import { request, requestFrom } from '../../../../test/support/http-client.ts'
import { openTestServer } from '../../../../test/support/http-server.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../../test/support/trusted-proxy.ts'
import {
  assertNoScriptPage,
  COOKIE_NAME,
  cookieFor,
  NO_BUILD,
  noScriptClient,
  setCookie,
} from '../testing/no-script-client.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ env: { ...PROXY_ENV, MAYFLY_AUTH_CHECKS: 'off' } })
})
afterAll(() => app.stop())

const { get, send, submitForm, sessionWithMail } = noScriptClient(() => app)

describe('200', () => {
  test('without a cookie: the start page, and no address is created', async () => {
    const asked = await get('/plain')
    assert.equal(asked.status, 200)
    assertNoScriptPage(asked)
    assert.match(asked.text, /<form method="post" action="\/plain">/)
    assert.equal(asked.headers.get('set-cookie'), null)
  })

  test('the inbox lists messages, newest first, and reloads itself', async () => {
    const { email, token } = await sessionWithMail(undefined, 'Subject: second\r\n\r\nhi\r\n')
    const asked = await get('/plain', cookieFor(token))
    assert.equal(asked.status, 200)
    assertNoScriptPage(asked)
    assert.ok(asked.text.includes(email.replace('@', '@<wbr>')))
    assert.match(asked.text, /second[\s\S]*Hello[\s\S]*Ann Sender/)
    assert.match(asked.text, /<meta http-equiv="refresh" content="15">/)
    assert.match(asked.text, /<title>\(2\) /)
    assert.ok(!asked.text.includes(token), 'the token stays in the cookie')
  })

  test('the list shows the most likely code', async () => {
    const { token, id } = await sessionWithMail(undefined)
    // Read once, so that the mail has been looked at, however slow the machine.
    await get(`/plain/mail/${id}`, cookieFor(token))
    await get('/plain', cookieFor(token))
    assert.match((await get('/plain', cookieFor(token))).text, /class="plain-code"[\s\S]*123456/)
  })

  test('it does not reload with look=0', async () => {
    const { token } = await sessionWithMail()
    const { text } = await get('/plain?look=0', cookieFor(token))
    assert.ok(!text.includes('http-equiv="refresh"'))
  })

  test('pages have the language and direction of the browser', async () => {
    const { token } = await sessionWithMail()
    const arabic = await get('/plain', { ...cookieFor(token), 'accept-language': 'ar,en;q=0.5' })
    assert.match(arabic.text, /<html lang="ar" dir="rtl">/)
    assert.match(arabic.text, /عنوانك/)
    const root = await get('/', { 'accept-language': 'de' })
    assert.match(root.text, /Adresse holen/)
  })
})

describe('303', () => {
  test('the button creates an address, in an HttpOnly SameSite cookie', async () => {
    const asked = await send('/plain')
    assert.deepEqual([asked.status, asked.headers.get('location')], [303, '/plain?first=1'])
    const { value, flags } = setCookie(asked)
    assert.match(value, /^[\w-]{43}$/)
    assert.match(flags.join(), /^Path=\/plain,Max-Age=86[34]\d\d,HttpOnly,SameSite=Strict$/)
    assert.equal(asked.headers.get('access-control-allow-origin'), null)
    assert.equal(asked.headers.get('cache-control'), 'no-store')
    const back = await get('/plain?first=1', cookieFor(value))
    assert.deepEqual([back.status, back.headers.get('location')], [303, '/plain?look=1'])
    assert.equal((await get('/plain', cookieFor(value))).status, 200)
  })

  test('over https the cookie is Secure and has the __Host- prefix', async () => {
    const headers = { 'x-forwarded-for': newClient(), 'x-forwarded-proto': 'https' }
    const asked = await requestFrom(app.httpPort, PROXY, {
      method: 'POST',
      path: '/plain',
      headers,
    })
    assert.match(
      asked.headers.get('set-cookie') ?? '',
      /^__Host-mayfly-plain=[\w-]{43}; Path=\/; Max-Age=86[34]\d\d; HttpOnly; SameSite=Strict; Secure$/,
    )
    const { value } = setCookie(asked)
    const opens = async (name: string) => {
      const cookie = `${name}=${value}`
      const path = '/plain/end'
      return (await requestFrom(app.httpPort, PROXY, { path, headers: { ...headers, cookie } }))
        .status
    }
    assert.equal(await opens('__Host-mayfly-plain'), 200)
    assert.equal(await opens(COOKIE_NAME), 401)
  })

  test('a name and a domain can be chosen', async () => {
    const { body } = await request(`${app.url}/api/domains`)
    const [{ id, domain } = { id: 0, domain: '' }] = body['domains'] as {
      id: number
      domain: string
    }[]
    const asked = await send('/plain', { prefix: 'Plain.Ann', domain_id: String(id) })
    const { value } = setCookie(asked)
    assert.ok((await get('/plain', cookieFor(value))).text.includes(`plain.ann@<wbr>${domain}`))
  })

  test('with a live address the button creates no second one', async () => {
    const { email, token } = await sessionWithMail()
    const asked = await send('/plain', { prefix: 'another' }, cookieFor(token))
    assert.deepEqual([asked.status, asked.headers.get('location')], [303, '/plain?still=1'])
    assert.equal(asked.headers.get('set-cookie'), null)
    const { text } = await get('/plain?still=1', cookieFor(token))
    assert.ok(
      text.includes('You already have this address') && text.includes(email.split('@')[0] ?? ''),
    )
  })

  test('after an address has expired the button creates another', async () => {
    const { token } = await sessionWithMail()
    await submitForm('/plain/end', token)
    assert.match(setCookie(await send('/plain', {}, cookieFor(token))).value, /^[\w-]{43}$/)
  })

  test('extending moves the expiry of the address and of the cookie', async () => {
    const { token } = await app.session({ ttl: '600' })
    const asked = await submitForm('/plain/extend', token)
    assert.deepEqual([asked.status, asked.headers.get('location')], [303, '/plain?look=1'])
    const { value, flags } = setCookie(asked)
    assert.equal(value, token)
    assert.match(flags.join(), /Max-Age=86[34]\d\d/)
  })

  test('a message is deleted', async () => {
    const { token, id } = await sessionWithMail(undefined)
    const asked = await submitForm(`/plain/mail/${id}/delete`, token)
    assert.deepEqual([asked.status, asked.headers.get('location')], [303, '/plain?look=1'])
    assert.equal((await get(`/plain/mail/${id}`, cookieFor(token))).status, 404)
  })

  test('the address is deleted after a confirmation, and the cookie too', async () => {
    const { email, token } = await sessionWithMail(undefined)
    const question = await get('/plain/end', cookieFor(token))
    assert.ok(question.status === 200 && question.text.includes(email))
    const asked = await submitForm('/plain/end', token)
    assert.deepEqual([asked.status, asked.headers.get('location')], [303, '/plain?ended=1'])
    assert.ok(setCookie(asked).flags.includes('Max-Age=0'))
    assert.match((await get('/plain?ended=1')).text, /Address and mail deleted/)
    assert.equal((await request(`${app.url}/api/check-mail?token=${token}`)).status, 401)
  })
})

describe('400', () => {
  for (const [prefix, words] of [
    ['a..b', 'is not allowed'],
    ['postmaster', 'is reserved'],
    ['"><script>', 'is not allowed'],
  ] as const) {
    test(`${prefix} is not allowed, and stays in the form`, async () => {
      const asked = await send('/plain', { prefix })
      assert.equal(asked.status, 400)
      assertNoScriptPage(asked)
      assert.ok(asked.text.includes(words))
      assert.match(asked.text, /id="prefix"[^>]*aria-invalid="true"/)
      assert.ok(!asked.text.includes('<script>'))
    })
  }

  test('unknown domain', async () => {
    const asked = await send('/plain', { domain_id: '999' })
    assert.equal(asked.status, 400)
    assert.match(asked.text, /no longer available/)
  })

  test('a browser that rejected the cookie is told so', async () => {
    const asked = await get('/plain?first=1')
    assert.equal(asked.status, 400)
    assertNoScriptPage(asked)
    assert.match(asked.text, /did not store the cookie/)
  })

  test('an invalid request gets a page', async () => {
    for (const asked of [
      await send('/plain', { domain_id: 'x' }),
      await send('/plain?prefix=a&prefix=b'),
      await send('/plain/end?proof[]=a'),
      await request(`${app.url}/plain`, {
        method: 'POST',
        body: '{',
        headers: { 'content-type': 'application/json' },
      }),
    ]) {
      assert.equal(asked.status, 400)
      assertNoScriptPage(asked)
    }
  })
})

describe('405', () => {
  test('GET on a form target', async () => {
    for (const path of ['/plain/extend', '/plain/mail/1/delete']) {
      assert.equal((await get(path)).status, 405)
    }
  })
})

describe('409', () => {
  test('the name is taken', async () => {
    const { email } = await app.session({ prefix: 'plain.taken' })
    const { body } = await request(`${app.url}/api/domains`)
    const domains = body['domains'] as { id: number; domain: string }[]
    const id = domains.find(({ domain }) => email.endsWith(`@${domain}`))?.id
    const asked = await send('/plain', { prefix: 'plain.taken', domain_id: String(id) })
    assert.equal(asked.status, 409)
    assertNoScriptPage(asked)
    assert.match(asked.text, /This address is taken/)
    assert.match(asked.text, /value="plain\.taken"/)
    assert.match(asked.text, new RegExp(`<option value="${id}" selected>`))
  })
})

describe('429', () => {
  test('too many addresses: Retry-After and a page', async () => {
    const headers = { 'x-forwarded-for': newClient() }
    const once = () => requestFrom(app.httpPort, PROXY, { method: 'POST', path: '/plain', headers })
    let asked = await once()
    for (let count = 0; count < 70 && asked.status === 303; count += 1) asked = await once()
    assert.equal(asked.status, 429)
    assertNoScriptPage(asked)
    assert.match(asked.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    assert.match(asked.text, /Try again in \d+ second/)
    const other = { 'x-forwarded-for': newClient() }
    const path = '/plain'
    const free = await requestFrom(app.httpPort, PROXY, { method: 'POST', path, headers: other })
    assert.equal(free.status, 303)
  })
})

describe('/', () => {
  test('has the button in noscript only', async () => {
    const loads = () => ({ script: '/assets/x.js', modules: [], styles: [] })
    const door = await openTestServer({ builtPage: { ...NO_BUILD, entry: loads } })
    try {
      const asked = await request(`${door.url}/`)
      const [, hidden = ''] =
        /<main id="main">\s*<noscript>([\s\S]*?)<\/noscript>/.exec(asked.text) ?? []
      assert.match(hidden, /<form method="post" action="\/plain">/)
      assert.equal(asked.text.split('<form').length, 2)
      assert.equal(asked.headers.get('set-cookie'), null)
    } finally {
      await door.stop()
    }
  })

  test('shows the button to everybody while no build exists', async () => {
    const door = await openTestServer({ builtPage: NO_BUILD })
    try {
      const root = await request(`${door.url}/`)
      assert.equal(root.status, 200)
      assert.match(root.text, /<form method="post" action="\/plain">/)
      assert.ok(!/<noscript>|<script|stylesheet/.test(root.text))
      const made = await request(`${door.url}/plain`, { method: 'POST' })
      const inbox = await request(`${door.url}/plain`, {
        headers: cookieFor(setCookie(made).value),
      })
      assert.deepEqual([made.status, inbox.status], [303, 200])
    } finally {
      await door.stop()
    }
  })
})
