import { expect } from 'vitest'
import type { App } from '../../../../test/kit/app/app.ts'
import { request, type TestResponse } from '../../../../test/kit/http/http-client.ts'
import type { SiteConfig } from '../../../shared/site.ts'
import type { BuiltPage } from '../assets.ts'
import { localeOf } from '../locale.ts'
import type { Site } from '../page.ts'
import { csrfToken } from '../plain/csrf.ts'

export const COOKIE_NAME = 'mayfly-plain'

/** The cookie header for this token. */
export const cookieFor = (token: string) => ({ cookie: `${COOKIE_NAME}=${token}` })

/** A browser without scripts. */
export function noScriptClient(app: () => App) {
  async function get(path: string, headers: Record<string, string> = {}): Promise<TestResponse> {
    return await request(`${app().url}${path}`, { headers })
  }

  async function send(
    path: string,
    values: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<TestResponse> {
    const body = new URLSearchParams(values)
    return await request(`${app().url}${path}`, { method: 'POST', body, headers })
  }

  return {
    get,
    send,
    /** Submits a form of our own page with this token. */
    async submitForm(path: string, token: string): Promise<TestResponse> {
      const headers = { ...cookieFor(token), 'sec-fetch-site': 'same-origin' }
      return await send(path, { proof: csrfToken(token) }, headers)
    },
    /** A session that has received these mails. */
    async sessionWithMail(...mails: (string | undefined)[]) {
      const { email, token } = await app().session()
      for (const mail of mails) expect(await app().mail(email, mail)).toBe(250)
      const { body } = await request(`${app().url}/api/check-mail?token=${token}`)
      const [{ id } = { id: 0 }] = body['messages'] as { id: number }[]
      return { email, token, id }
    },
  }
}

/** The value and attributes of the cookie that a response sets. */
export function setCookie({ headers }: TestResponse): { value: string; flags: string[] } {
  const [first = '', ...flags] = (headers.get('set-cookie') ?? '').split('; ')
  return { value: first.slice(first.indexOf('=') + 1), flags }
}

/** Asserts what all pages without scripts have in common. */
export function assertNoScriptPage({ headers, text }: TestResponse): void {
  expect(headers.get('content-type') ?? '').toMatch(/^text\/html/)
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('referrer-policy')).toBe('no-referrer')
  expect(headers.get('access-control-allow-origin')).toBe(null)
  expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
  expect(headers.get('x-robots-tag')).toBe('noindex')
  expect(headers.get('content-security-policy') ?? '').toMatch(/frame-ancestors 'none'/)
  expect(text).toMatch(/^<!doctype html>/)
}

/** A mail with markup in every field. */
export const HOSTILE = [
  'From: "<img src=x onerror=alert(1)>" <"><script>"@sender.test>',
  'Subject: =?utf-8?Q?=22=3E<script>alert(1)</script>?=',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain',
  '',
  '</pre><script>alert(1)</script> http://x.test/"onmouseover="alert(1)',
  '--b',
  'Content-Type: text/html; name="<svg onload=alert(1)>"',
  'Content-Disposition: attachment; filename="\'><svg onload=alert(1)>.html"',
  '',
  '<script>alert(1)</script>',
  '--b--',
  '',
].join('\r\n')

/** The state before `npm run build`. */
export const NO_BUILD: BuiltPage = {
  entry: () => undefined,
  catalogue: () => undefined,
  asset: () => undefined,
}

/** Without an abuse contact, and without a shop. */
export const ENGLISH_SITE: Site = {
  built: NO_BUILD,
  locale: localeOf('en'),
  config: { abuse: '', shop: false } as SiteConfig,
}
