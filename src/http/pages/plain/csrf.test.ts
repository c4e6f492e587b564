import { describe, expect, test } from 'vitest'
import { csrfToken, isCrossSite, isValidCsrfToken, tokenCookie, tokenFromCookie } from './csrf.ts'

const SITE = 'https://mayfly.test'

describe('a cross-site form', () => {
  for (const [name, headers, expected] of [
    ['our own page', { 'sec-fetch-site': 'same-origin', origin: 'null' }, false],
    ['a navigation by the user', { 'sec-fetch-site': 'none' }, false],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' }, true],
    ['another host of the same site', { 'sec-fetch-site': 'same-site' }, true],
    ['another site that claims our origin', { 'sec-fetch-site': 'cross-site', origin: SITE }, true],
    ['an unknown Sec-Fetch-Site value', { 'sec-fetch-site': 'here' }, true],
    ['an old browser, our page', { origin: 'http://box.test:8080' }, false],
    ['an old browser, the configured base URL', { origin: SITE }, false],
    ['an old browser, another site', { origin: 'https://evil.test' }, true],
    ['another port', { origin: 'http://box.test:9090' }, true],
    ['a host with our host as prefix', { origin: 'http://box.test:8080.evil.test' }, true],
    ['a host with our host as suffix', { origin: 'https://evil-mayfly.test' }, true],
    ['an invalid origin', { origin: 'box.test' }, true],
    ['a page without a referrer over plain http', { origin: 'null' }, false],
    ['a text browser', {}, false],
    ['user info before our host', { origin: 'http://evil@box.test:8080' }, true],
  ] as const) {
    test(`${name}: ${expected}`, () => {
      const request = { headers: { host: 'Box.test:8080', ...headers }, secure: () => false }
      expect(isCrossSite(request, SITE)).toBe(expected)
    })
  }

  test('a page of our host over http is foreign to an https service, and not the other way round', () => {
    const sent = (origin: string, secure: boolean) =>
      isCrossSite({ headers: { host: 'box.test', origin }, secure: () => secure }, '')
    expect([sent('http://box.test', true), sent('https://box.test', true)]).toStrictEqual([
      true,
      false,
    ])
    // Behind a proxy for TLS that is not trusted.
    expect(sent('https://box.test', false)).toBe(false)
  })
})

describe('the CSRF token of a form', () => {
  const token = 'a'.repeat(43)
  for (const [name, proof, expected] of [
    ['is valid if derived from the session token', csrfToken(token), true],
    ['is invalid if derived from another session token', csrfToken('b'.repeat(43)), false],
    ['is invalid if it is the session token', token, false],
    ['is invalid if empty', '', false],
    ['is invalid if missing', undefined, false],
  ] as const) {
    test(name, () => expect(isValidCsrfToken(token, proof)).toBe(expected))
  }
})

test('over https only the __Host- cookie is read', () => {
  const headers = { cookie: 'mayfly-plain=planted; __Host-mayfly-plain=ours' }
  expect(tokenFromCookie({ headers, secure: () => true })).toBe('ours')
  expect(tokenFromCookie({ headers, secure: () => false })).toBe('planted')
  expect(tokenCookie(true, 't', 60)).toMatch(/^__Host-mayfly-plain=t; Path=\/; .*; Secure$/)
  expect(tokenCookie(false, 't', 60)).toMatch(/^mayfly-plain=t; Path=\/plain; .*SameSite=Strict$/)
})
