import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../../test/kit/app/app.ts'
import { request, requestFrom } from '../../../../test/kit/http/http-client.ts'
import { openTestServer } from '../../../../test/kit/http/http-server.ts'
import { newClient, PROXY } from '../../../../test/kit/http/trusted-proxy.ts'
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
    expect(response.status).toBe(200)
    assertNoScriptPage(response)
    expect(response.text).toMatch(/<form method="post" action="\/plain">/)
    expect(response.headers.get('set-cookie')).toBe(null)
  })

  test('the inbox lists messages, newest first, and reloads itself', async () => {
    const { email, token } = await sessionWithMail(undefined, 'Subject: second\r\n\r\nhi\r\n')
    const response = await get('/plain', cookieFor(token))
    expect(response.status).toBe(200)
    assertNoScriptPage(response)
    expect(response.text).toContain(email.replace('@', '<wbr>@'))
    expect(response.text).toMatch(/second[\s\S]*Hello[\s\S]*Ann Sender/)
    expect(response.text).toMatch(/<meta http-equiv="refresh" content="15">/)
    expect(response.text).toMatch(/<title>\(2\) /)
    expect(response.text, 'the token stays in the cookie').not.toContain(token)
  })

  test('the list shows the most likely code', async () => {
    const { token, id } = await sessionWithMail(undefined)
    // Read once, so that the mail has been parsed even on a slow machine.
    await get(`/plain/mail/${id}`, cookieFor(token))
    await get('/plain', cookieFor(token))
    expect((await get('/plain', cookieFor(token))).text).toMatch(/class="plain-code"[\s\S]*123456/)
  })

  test('the inbox does not reload with look=0', async () => {
    const { token } = await sessionWithMail()
    const { text } = await get('/plain?look=0', cookieFor(token))
    expect(text).not.toContain('http-equiv="refresh"')
  })

  test('pages have the language and direction of the browser', async () => {
    const { token } = await sessionWithMail()
    const arabic = await get('/plain', { ...cookieFor(token), 'accept-language': 'ar,en;q=0.5' })
    expect(arabic.text).toMatch(/<html lang="ar" dir="rtl">/)
    expect(arabic.text).toMatch(/عنوانك/)
    const root = await get('/', { 'accept-language': 'de' })
    expect(root.text).toMatch(/Adresse holen/)
  })
})

describe('303', () => {
  test('the button creates an address, in an HttpOnly SameSite cookie', async () => {
    const response = await send('/plain')
    expect([response.status, response.headers.get('location')]).toStrictEqual([
      303,
      '/plain?first=1',
    ])
    const { value, flags } = setCookie(response)
    expect(value).toMatch(/^[\w-]{43}$/)
    expect(flags.join()).toMatch(/^Path=\/plain,Max-Age=86[34]\d\d,HttpOnly,SameSite=Strict$/)
    expect(response.headers.get('access-control-allow-origin')).toBe(null)
    expect(response.headers.get('cache-control')).toBe('no-store')
    const redirect = await get('/plain?first=1', cookieFor(value))
    expect([redirect.status, redirect.headers.get('location')]).toStrictEqual([
      303,
      '/plain?look=1',
    ])
    expect((await get('/plain', cookieFor(value))).status).toBe(200)
  })

  test('over https the cookie is Secure and has the __Host- prefix', async () => {
    const headers = { 'x-forwarded-for': newClient(), 'x-forwarded-proto': 'https' }
    const response = await requestFrom(app.httpPort, PROXY, {
      method: 'POST',
      path: '/plain',
      headers,
    })
    expect(response.headers.get('set-cookie') ?? '').toMatch(
      /^__Host-mayfly-plain=[\w-]{43}; Path=\/; Max-Age=86[34]\d\d; HttpOnly; SameSite=Strict; Secure$/,
    )
    const { value } = setCookie(response)
    const statusWith = async (name: string) => {
      const cookie = `${name}=${value}`
      const path = '/plain/end'
      return (await requestFrom(app.httpPort, PROXY, { path, headers: { ...headers, cookie } }))
        .status
    }
    expect(await statusWith('__Host-mayfly-plain')).toBe(200)
    expect(await statusWith(COOKIE_NAME)).toBe(401)
  })

  test('a name and a domain can be chosen', async () => {
    const { body } = await request(`${app.url}/api/domains`)
    const [{ id, domain } = { id: 0, domain: '' }] = body['domains'] as {
      id: number
      domain: string
    }[]
    const response = await send('/plain', { prefix: 'Plain.Ann', domain_id: String(id) })
    const { value } = setCookie(response)
    expect((await get('/plain', cookieFor(value))).text).toContain(`plain.ann<wbr>@${domain}`)
  })

  test('with a live address the button creates no second one', async () => {
    const { email, token } = await sessionWithMail()
    const response = await send('/plain', { prefix: 'another' }, cookieFor(token))
    expect([response.status, response.headers.get('location')]).toStrictEqual([
      303,
      '/plain?still=1',
    ])
    expect(response.headers.get('set-cookie')).toBe(null)
    const { text } = await get('/plain?still=1', cookieFor(token))
    expect(
      text.includes('You already have this address') && text.includes(email.split('@')[0] ?? ''),
    ).toBeTruthy()
  })

  test('after an address has expired the button creates another', async () => {
    const { token } = await sessionWithMail()
    await submitForm('/plain/end', token)
    expect(setCookie(await send('/plain', {}, cookieFor(token))).value).toMatch(/^[\w-]{43}$/)
  })

  test('extending moves the expiry of the address and of the cookie', async () => {
    const { token } = await app.session({ ttl: '600' })
    const response = await submitForm('/plain/extend', token)
    expect([response.status, response.headers.get('location')]).toStrictEqual([
      303,
      '/plain?look=1',
    ])
    const { value, flags } = setCookie(response)
    expect(value).toBe(token)
    expect(flags.join()).toMatch(/Max-Age=86[34]\d\d/)
  })

  test('an empty inbox at an example domain says so, and a test message can be sent', async () => {
    const { token } = await app.session()
    const { text } = await get('/plain', cookieFor(token))
    expect(text).toMatch(/outside mail cannot reach it/)
    expect(text).toMatch(/<form method="post" action="\/plain\/test">/)
    const response = await submitForm('/plain/test', token)
    expect([response.status, response.headers.get('location')]).toStrictEqual([
      303,
      '/plain?look=1',
    ])
    expect((await get('/plain', cookieFor(token))).text).toMatch(/Test message/)
  })

  test('a message is deleted', async () => {
    const { token, id } = await sessionWithMail(undefined)
    const response = await submitForm(`/plain/mail/${id}/delete`, token)
    expect([response.status, response.headers.get('location')]).toStrictEqual([
      303,
      '/plain?look=1',
    ])
    expect((await get(`/plain/mail/${id}`, cookieFor(token))).status).toBe(404)
  })

  test('the address is deleted after a confirmation, and the cookie too', async () => {
    const { email, token } = await sessionWithMail(undefined)
    const confirmation = await get('/plain/end', cookieFor(token))
    expect(confirmation.status === 200 && confirmation.text.includes(email)).toBeTruthy()
    const response = await submitForm('/plain/end', token)
    expect([response.status, response.headers.get('location')]).toStrictEqual([
      303,
      '/plain?ended=1',
    ])
    expect(setCookie(response).flags).toContain('Max-Age=0')
    expect((await get('/plain?ended=1')).text).toMatch(/Address and mail deleted/)
    expect((await request(`${app.url}/api/check-mail?token=${token}`)).status).toBe(401)
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
      expect(response.status).toBe(400)
      assertNoScriptPage(response)
      expect(response.text).toContain(reason)
      expect(response.text).toMatch(/id="prefix"[^>]*aria-invalid="true"/)
      expect(response.text).not.toContain('<script>')
      expect(response.text.length, `${response.text.length} characters`).toBeLessThan(10_000)
    })
  }

  test('an unknown domain is reported', async () => {
    const response = await send('/plain', { domain_id: '999' })
    expect(response.status).toBe(400)
    expect(response.text).toMatch(/no longer available/)
  })

  test('a rejected cookie is reported', async () => {
    const response = await get('/plain?first=1')
    expect(response.status).toBe(400)
    assertNoScriptPage(response)
    expect(response.text).toMatch(/did not store the cookie/)
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
      expect(response.status).toBe(400)
      assertNoScriptPage(response)
    }
  })
})

describe('405', () => {
  test('GET on a form target is refused', async () => {
    for (const path of ['/plain/extend', '/plain/mail/1/delete']) {
      expect((await get(path)).status).toBe(405)
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
    expect(response.status).toBe(409)
    assertNoScriptPage(response)
    expect(response.text).toMatch(/This address is taken/)
    expect(response.text).toMatch(/value="plain\.taken"/)
    expect(response.text).toMatch(new RegExp(`<option value="${id}" selected>`))
  })
})

describe('429', () => {
  test('creating too many addresses is refused with Retry-After and a page', async () => {
    const headers = { 'x-forwarded-for': newClient() }
    const create = () =>
      requestFrom(app.httpPort, PROXY, { method: 'POST', path: '/plain', headers })
    let response = await create()
    for (let count = 0; count < 70 && response.status === 303; count += 1) response = await create()
    expect(response.status).toBe(429)
    assertNoScriptPage(response)
    expect(response.headers.get('retry-after') ?? '').toMatch(/^[1-9]\d*$/)
    expect(response.text).toMatch(/Try again in \d+ second/)
    const other = { 'x-forwarded-for': newClient() }
    const path = '/plain'
    const unlimited = await requestFrom(app.httpPort, PROXY, {
      method: 'POST',
      path,
      headers: other,
    })
    expect(unlimited.status).toBe(303)
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
      expect(hidden).toMatch(/<form method="post" action="\/plain">/)
      expect(response.text.split('<form').length).toBe(2)
      expect(response.headers.get('set-cookie')).toBe(null)
    } finally {
      await server.stop()
    }
  })

  test('shows the button outside noscript while no build exists', async () => {
    const server = await openTestServer({ builtPage: NO_BUILD })
    try {
      const root = await request(`${server.url}/`)
      expect(root.status).toBe(200)
      expect(root.text).toMatch(/<form method="post" action="\/plain">/)
      expect(root.text).not.toMatch(/<noscript>|<script|stylesheet/)
      const created = await request(`${server.url}/plain`, { method: 'POST' })
      const inbox = await request(`${server.url}/plain`, {
        headers: cookieFor(setCookie(created).value),
      })
      expect([created.status, inbox.status]).toStrictEqual([303, 200])
    } finally {
      await server.stop()
    }
  })
})
