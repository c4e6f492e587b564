import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { csrfToken, isCrossSite, isValidCsrfToken, tokenCookie, tokenFromCookie } from './csrf.ts'

const SITE = 'https://mayfly.test'

describe('a cross-site form', () => {
  for (const [name, headers, expected] of [
    ['our own page', { 'sec-fetch-site': 'same-origin', origin: 'null' }, false],
    ['the reader himself', { 'sec-fetch-site': 'none' }, false],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' }, true],
    ['a neighbour', { 'sec-fetch-site': 'same-site' }, true],
    ['another site that claims our origin', { 'sec-fetch-site': 'cross-site', origin: SITE }, true],
    ['nonsense in its place', { 'sec-fetch-site': 'here' }, true],
    ['an old browser, our page', { origin: 'http://box.test:8080' }, false],
    ['an old browser, our page as the operator names it', { origin: SITE }, false],
    ['an old browser, another site', { origin: 'https://evil.test' }, true],
    ['another port', { origin: 'http://box.test:9090' }, true],
    ['a name that begins as ours', { origin: 'http://box.test:8080.evil.test' }, true],
    ['a name that ends as ours', { origin: 'https://evil-mayfly.test' }, true],
    ['an origin that is none', { origin: 'box.test' }, true],
    ['a page without referrer, by plain http', { origin: 'null' }, false],
    ['a text browser', {}, false],
  ] as const) {
    test(`${name}: ${expected}`, () => {
      assert.equal(isCrossSite({ host: 'Box.test:8080', ...headers }, SITE), expected)
    })
  }
})

describe('the CSRF token of a form', () => {
  const token = 'a'.repeat(43)
  for (const [name, proof, expected] of [
    ['carries what was made of the token', csrfToken(token), true],
    ['not of another', csrfToken('b'.repeat(43)), false],
    ['not the token', token, false],
    ['not nothing', '', false],
    ['nor is it without', undefined, false],
  ] as const) {
    test(name, () => assert.equal(isValidCsrfToken(token, proof), expected))
  }
})

test('over https only the __Host- cookie is read', () => {
  const headers = { cookie: 'mayfly-plain=planted; __Host-mayfly-plain=ours' }
  assert.equal(tokenFromCookie({ headers, secure: () => true }), 'ours')
  assert.equal(tokenFromCookie({ headers, secure: () => false }), 'planted')
  assert.match(tokenCookie(true, 't', 60), /^__Host-mayfly-plain=t; Path=\/; .*; Secure$/)
  assert.match(tokenCookie(false, 't', 60), /^mayfly-plain=t; Path=\/plain; .*SameSite=Strict$/)
})
