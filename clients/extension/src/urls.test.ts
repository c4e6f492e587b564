import { expect, test } from 'vitest'
import { patternOf, serverUrl, siteOf } from './urls.ts'

for (const [url, site] of [
  ['https://shop.test/sign-up?x=1', 'shop.test'],
  ['https://www.shop.test/', 'shop.test'],
  // Anybody in the network could answer for it.
  ['http://www.shop.test/', 'http://shop.test'],
  ['https://shop.test:8443/', 'shop.test:8443'],
  ['http://localhost:3000/', 'http://localhost:3000'],
  ['https://accounts.shop.test/', 'accounts.shop.test'],
  // Not the site that it is called after.
  ['https://shop.test.evil.test/', 'shop.test.evil.test'],
  ['https://shop.test@evil.test/', 'evil.test'],
  ['https://evil.test/https://shop.test/', 'evil.test'],
  ['about:blank', undefined],
  ['chrome-extension://shop.test/popup.html', undefined],
  ['file:///shop.test', undefined],
  ['', undefined],
  [undefined, undefined],
] as const) {
  test(`the site of ${url} is ${site}`, () => expect(siteOf(url)).toBe(site))
}

for (const [typed, url] of [
  ['https://mail.example.com/', 'https://mail.example.com'],
  [' mail.example.com ', 'https://mail.example.com'],
  ['localhost:8080', 'https://localhost:8080'],
  ['http://localhost:8080/', 'http://localhost:8080'],
  ['https://Example.com/mail//?a#b', 'https://example.com/mail'],
  // It would not be sent.
  ['https://user:password@mail.example.com', undefined],
  ['ftp://mail.example.com', undefined],
  ['javascript://alert(1)', undefined],
  ['no server', undefined],
  ['', undefined],
] as const) {
  test(`"${typed}" is the server ${url}`, () => expect(serverUrl(typed)).toBe(url))
}

test('access is asked for one host, at all of its ports', () => {
  expect(patternOf('http://mail.example.com:8080/sub')).toBe('http://mail.example.com/*')
})
