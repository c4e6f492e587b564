import assert from 'node:assert/strict'
import { beforeAll, describe, test } from 'vitest'
import { type App, sharedApp } from '../../../../test/support/app.ts'
import { request, requestFrom } from '../../../../test/support/http-client.ts'
import { openTestServer } from '../../../../test/support/http-server.ts'
import { newClient, PROXY } from '../../../../test/support/trusted-proxy.ts'
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
  app = await sharedApp()
})

const { get, send, submitForm, sessionWithMail } = noScriptClient(() => app)

describe('200', () => {
  test('without a cookie the start page is shown, and no address is created', async () => {
    const response = await get('/plain')
    assert.equal(response.status, 200)
    assertNoScriptPage(response)
    assert.match(response.text, /<form method="post" action="\/plain">/)
    assert.equal(response.headers.get('set-cookie'), null)
  })

  test('the inbox lists messages, newest first, and reloads itself', async () => {
    const { email, token } = await sessionWithMail(undefined, 'Subject: second\r\n\r\nhi\r\n')
    const response = await get('/plain', cookieFor(token))
    assert.equal(response.status, 200)
    assertNoScriptPage(response)
    assert.ok(response.text.includes(email.replace('@', '<wbr>@')))
    assert.match(response.text, /second[\s\S]*Hello[\s\S]*Ann Sender/)
    assert.match(response.text, /<meta http-equiv="refresh" content="15">/)
    assert.match(response.text, /<title>\(2\) /)
    assert.ok(!response.text.includes(token), 'the token stays in the cookie')
  })

  test('the list shows the most likely code', async () => {
    const { token, id } = await sessionWithMail(undefined)
    // Read once, so that the mail has been parsed even on a slow machine.
    await get(`/plain/mail/${id}`, cookieFor(token))
    await get('/plain', cookieFor(token))
    assert.match((await get('/plain', cookieFor(token))).text, /class="plain-code"[\s\S]*123456/)
  })

  test('the inbox does not reload with look=0', async () => {
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
    const response = await send('/plain')
    assert.deepEqual([response.status, response.headers.get('location')], [303, '/plain?first=1'])
    const { value, flags } = setCookie(response)
    assert.match(value, /^[\w-]{43}$/)
    assert.match(flags.join(), /^Path=\/plain,Max-Age=86[34]\d\d,HttpOnly,SameSite=Strict$/)
    assert.equal(response.headers.get('access-control-allow-origin'), null)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    const redirect = await get('/plain?first=1', cookieFor(value))
    assert.deepEqual([redirect.status, redirect.headers.get('location')], [303, '/plain?look=1'])
    assert.equal((await get('/plain', cookieFor(value))).status, 200)
  })

  test('over https the cookie is Secure and has the __Host- prefix', async () => {
    const headers = { 'x-forwarded-for': newClient(), 'x-forwarded-proto': 'https' }
    const response = await requestFrom(app.httpPort, PROXY, {
      method: 'POST',
      path: '/plain',
      headers,
    })
    assert.match(
      response.headers.get('set-cookie') ?? '',
      /^__Host-mayfly-plain=[\w-]{43}; Path=\/; Max-Age=86[34]\d\d; HttpOnly; SameSite=Strict; Secure$/,
    )
    const { value } = setCookie(response)
    const statusWith = async (name: string) => {
      const cookie = `${name}=${value}`
      const path = '/plain/end'
      return (await requestFrom(app.httpPort, PROXY, { path, headers: { ...headers, cookie } }))
        .status
    }
    assert.equal(await statusWith('__Host-mayfly-plain'), 200)
    assert.equal(await statusWith(COOKIE_NAME), 401)
  })

  test('a name and a domain can be chosen', async () => {
    const { body } = await request(`${app.url}/api/domains`)
    const [{ id, domain } = { id: 0, domain: '' }] = body['domains'] as {
      id: number
      domain: string
    }[]
    const response = await send('/plain', { prefix: 'Plain.Ann', domain_id: String(id) })
    const { value } = setCookie(response)
    assert.ok((await get('/plain', cookieFor(value))).text.includes(`plain.ann<wbr>@${domain}`))
  })

  test('with a live address the button creates no second one', async () => {
    const { email, token } = await sessionWithMail()
    const response = await send('/plain', { prefix: 'another' }, cookieFor(token))
    assert.deepEqual([response.status, response.headers.get('location')], [303, '/plain?still=1'])
    assert.equal(response.headers.get('set-cookie'), null)
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
    const response = await submitForm('/plain/extend', token)
    assert.deepEqual([response.status, response.headers.get('location')], [303, '/plain?look=1'])
    const { value, flags } = setCookie(response)
    assert.equal(value, token)
    assert.match(flags.join(), /Max-Age=86[34]\d\d/)
  })

  test('an empty inbox at an example domain says so, and a test message can be sent', async () => {
    const { token } = await app.session()
    const { text } = await get('/plain', cookieFor(token))
    assert.match(text, /Mail from the Internet cannot reach this address/)
    assert.match(text, /<form method="post" action="\/plain\/test">/)
    const response = await submitForm('/plain/test', token)
    assert.deepEqual([response.status, response.headers.get('location')], [303, '/plain?look=1'])
    assert.match((await get('/plain', cookieFor(token))).text, /Test message/)
  })

  test('a message is deleted', async () => {
    const { token, id } = await sessionWithMail(undefined)
    const response = await submitForm(`/plain/mail/${id}/delete`, token)
    assert.deepEqual([response.status, response.headers.get('location')], [303, '/plain?look=1'])
    assert.equal((await get(`/plain/mail/${id}`, cookieFor(token))).status, 404)
  })

  test('the address is deleted after a confirmation, and the cookie too', async () => {
    const { email, token } = await sessionWithMail(undefined)
    const confirmation = await get('/plain/end', cookieFor(token))
    assert.ok(confirmation.status === 200 && confirmation.text.includes(email))
    const response = await submitForm('/plain/end', token)
    assert.deepEqual([response.status, response.headers.get('location')], [303, '/plain?ended=1'])
    assert.ok(setCookie(response).flags.includes('Max-Age=0'))
    assert.match((await get('/plain?ended=1')).text, /Address and mail deleted/)
    assert.equal((await request(`${app.url}/api/check-mail?token=${token}`)).status, 401)
  })
})

describe('400', () => {
  for (const [prefix, reason] of [
    ['a..b', 'is not allowed'],
    ['postmaster', 'is reserved'],
    ['"><script>', 'is not allowed'],
    ['<'.repeat(10_000), 'is not allowed'],
  ] as const) {
    test(`${prefix.slice(0, 20)} is not allowed, and stays in the form`, async () => {
      const response = await send('/plain', { prefix })
      assert.equal(response.status, 400)
      assertNoScriptPage(response)
      assert.ok(response.text.includes(reason))
      assert.match(response.text, /id="prefix"[^>]*aria-invalid="true"/)
      assert.ok(!response.text.includes('<script>'))
      assert.ok(response.text.length < 10_000, `${response.text.length} characters`)
    })
  }

  test('an unknown domain is reported', async () => {
    const response = await send('/plain', { domain_id: '999' })
    assert.equal(response.status, 400)
    assert.match(response.text, /no longer available/)
  })

  test('a rejected cookie is reported', async () => {
    const response = await get('/plain?first=1')
    assert.equal(response.status, 400)
    assertNoScriptPage(response)
    assert.match(response.text, /did not store the cookie/)
  })

  test('an invalid request is answered with a page', async () => {
    for (const response of [
      await send('/plain', { domain_id: 'x' }),
      await send('/plain?prefix=a&prefix=b'),
      await send('/plain/end?proof[]=a'),
      await request(`${app.url}/plain`, {
        method: 'POST',
        body: '{',
        headers: { 'content-type': 'application/json' },
      }),
    ]) {
      assert.equal(response.status, 400)
      assertNoScriptPage(response)
    }
  })
})

describe('405', () => {
  test('GET on a form target is refused', async () => {
    for (const path of ['/plain/extend', '/plain/mail/1/delete']) {
      assert.equal((await get(path)).status, 405)
    }
  })
})

describe('409', () => {
  test('a taken name is reported, and stays in the form', async () => {
    const { email } = await app.session({ prefix: 'plain.taken' })
    const { body } = await request(`${app.url}/api/domains`)
    const domains = body['domains'] as { id: number; domain: string }[]
    const id = domains.find(({ domain }) => email.endsWith(`@${domain}`))?.id
    const response = await send('/plain', { prefix: 'plain.taken', domain_id: String(id) })
    assert.equal(response.status, 409)
    assertNoScriptPage(response)
    assert.match(response.text, /This address is taken/)
    assert.match(response.text, /value="plain\.taken"/)
    assert.match(response.text, new RegExp(`<option value="${id}" selected>`))
  })
})

describe('429', () => {
  test('creating too many addresses is refused with Retry-After and a page', async () => {
    const headers = { 'x-forwarded-for': newClient() }
    const create = () =>
      requestFrom(app.httpPort, PROXY, { method: 'POST', path: '/plain', headers })
    let response = await create()
    for (let count = 0; count < 70 && response.status === 303; count += 1) response = await create()
    assert.equal(response.status, 429)
    assertNoScriptPage(response)
    assert.match(response.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    assert.match(response.text, /Try again in \d+ second/)
    const other = { 'x-forwarded-for': newClient() }
    const path = '/plain'
    const unlimited = await requestFrom(app.httpPort, PROXY, {
      method: 'POST',
      path,
      headers: other,
    })
    assert.equal(unlimited.status, 303)
  })
})

describe('/', () => {
  test('has the button in noscript only', async () => {
    const entry = () => ({ script: '/assets/x.js', modules: [], styles: [] })
    const server = await openTestServer({ builtPage: { ...NO_BUILD, entry: entry } })
    try {
      const response = await request(`${server.url}/`)
      const [, hidden = ''] =
        /<main id="main">\s*<noscript>([\s\S]*?)<\/noscript>/.exec(response.text) ?? []
      assert.match(hidden, /<form method="post" action="\/plain">/)
      assert.equal(response.text.split('<form').length, 2)
      assert.equal(response.headers.get('set-cookie'), null)
    } finally {
      await server.stop()
    }
  })

  test('shows the button outside noscript while no build exists', async () => {
    const server = await openTestServer({ builtPage: NO_BUILD })
    try {
      const root = await request(`${server.url}/`)
      assert.equal(root.status, 200)
      assert.match(root.text, /<form method="post" action="\/plain">/)
      assert.ok(!/<noscript>|<script|stylesheet/.test(root.text))
      const created = await request(`${server.url}/plain`, { method: 'POST' })
      const inbox = await request(`${server.url}/plain`, {
        headers: cookieFor(setCookie(created).value),
      })
      assert.deepEqual([created.status, inbox.status], [303, 200])
    } finally {
      await server.stop()
    }
  })
})
