import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { openPages } from '../kit/page/pages.ts'

const visits = openPages()
const leave = (link: string) => visits.visit(`/leave#${encodeURIComponent(link)}`)
const openHash = (page: Page, hash: string) =>
  page.evaluate(`location.hash = ${JSON.stringify(`#${hash}`)}`)

// All links are opened in one page.
describe('before a link in a mail is opened', () => {
  test('its actual host is shown, with warnings about anything suspicious, and the server sees only a request for the page', async () => {
    const page = await visits.visit('/favicon.svg')
    const requested: string[] = []
    page.on('request', (request) => requested.push(request.url().replace(/#.*/, '')))
    await page.goto(`${visits.app().url}/leave#https%3A%2F%2Fsecret.test`)
    await page.getByText('secret.test', { exact: true }).waitFor()
    for (const [name, link, host, words] of [
      ['its host is shown', 'https://a.test/b?c=d', 'a.test', 'https://a.test/b?c=d'],
      [
        'the host after the @ is shown',
        'https://bank.test@evil.test/',
        'evil.test',
        'The part before the @',
      ],
      [
        'homographs are reported',
        'https://аррӏе.test/',
        'xn--80ak6aa92e.test',
        'look-alike letters',
      ],
      [
        'bidi marks are percent-encoded',
        'https://a.test/\u202Egpj.exe',
        'a.test',
        'https://a.test/%E2%80%AEgpj.exe',
      ],
      ['an IP address is reported', 'https://0xC0000201/', '192.0.2.1', 'a bare IP address'],
      [
        'a link without encryption is reported',
        'http://a.test:8080/',
        'a.test:8080',
        'not be encrypted',
      ],
    ] as const) {
      await openHash(page, encodeURIComponent(link))
      await page.locator('.leave-host').getByText(host, { exact: true }).waitFor()
      await page.getByText(words).first().waitFor()
      const open = page.getByRole('link', { name: 'Open', exact: true })
      await expect
        .poll(async () => new URL((await open.getAttribute('href')) ?? '').host, { message: name })
        .toBe(host)
      expect(await open.getAttribute('rel'), name).toBe('noopener noreferrer')
      expect(await open.getAttribute('target'), name).toBe(null)
    }
    expect(requested[0]).toBe(`${visits.app().url}/leave`)
    expect(requested.filter((url) => /secret|evil|a\.test/.test(url))).toStrictEqual([])
  })

  test('anything but a web page is refused', async () => {
    const page = await leave('https://a.test/')
    for (const [name, link, words] of [
      ['a script', 'javascript:alert(1)', 'This link cannot be opened here'],
      ['a page inside a link', 'data:text/html,<script>alert(1)</script>', '(data:)'],
      ['a program', 'ms-word:ofe|u|http://a.test', '(ms-word:)'],
      ['mailto shows the address', 'mailto:ann@a.test?attach=/x', 'ann@a.test'],
      ['nothing', '', 'This link is broken'],
      ['words', 'hello there', 'This link is broken'],
      ['invalid percent-encoding', '%', 'This link is broken'],
    ] as const) {
      // Always after a valid link, so that nothing is left over from the previous case.
      await openHash(page, encodeURIComponent('https://a.test/'))
      await page.getByRole('link', { name: 'Open', exact: true }).waitFor()
      await openHash(page, link === '%' ? link : encodeURIComponent(link))
      await page.getByText(words).first().waitFor()
      await expect
        .poll(() => page.getByRole('link', { name: 'Open', exact: true }).count(), {
          message: name,
        })
        .toBe(0)
    }
  })
})

test('back closes the tab that the link opened', async () => {
  const page = await visits.visit('/favicon.svg')
  const [other] = await Promise.all([
    page.context().waitForEvent('page'),
    page.evaluate(`open('/leave#https%3A%2F%2Fa.test', '_blank', 'noopener')`),
  ])
  await Promise.all([
    other.waitForEvent('close'),
    other.getByRole('link', { name: 'Back' }).click(),
  ])
})

test('back returns to the inbox if the tab has a history', async () => {
  const page = await visits.visit('/favicon.svg')
  await page.goto(`${visits.app().url}/leave#https%3A%2F%2Fa.test`)
  await page.getByRole('link', { name: 'Back' }).click()
  await page.waitForURL(`${visits.app().url}/`)
})
