import { readFileSync } from 'node:fs'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { storeMailboxes } from '../kit/page/inbox.ts'
import { checkAccessibility, openPages } from '../kit/page/pages.ts'

const { app, visit, allow } = openPages({ MAYFLY_AUTH_CHECKS: 'off' })

const SCRIPTLESS: BrowserContextOptions = { javaScriptEnabled: false }

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true })
const heading = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor()

/** Presses the button of this page; returns the address. */
async function getAddress(page: Page): Promise<string> {
  await button(page, 'Get an address').click()
  const address = page.locator('.plain-address')
  await address.waitFor()
  return (await address.innerText()).trim()
}

async function cookieOf(page: Page) {
  const [cookie] = await page.context().cookies(`${app().url}/plain`)
  expect.assert(cookie)
  return cookie
}

const FILE = [
  'From: Ann <ann@sender.test>',
  'Subject: A file',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain',
  '',
  'see the file',
  '--b',
  'Content-Type: text/html',
  'Content-Disposition: attachment; filename=page.html',
  '',
  '<script>alert(1)</script>',
  '--b--',
  '',
].join('\r\n')

test('without scripts an address can be created, its mail read, and the address ended', async () => {
  const page = await visit('/', SCRIPTLESS)
  const address = await getAddress(page)
  expect(page.url()).toBe(`${app().url}/plain?look=1`)
  await page.getByText('No messages yet').waitFor()

  expect(await app().mail(address)).toBe(250)
  await link(page, 'Check now').click()
  await link(page, 'Hello').click()
  await page.getByText('Your code is 123456.').waitFor()
  await heading(page, 'Hello')

  await button(page, 'Delete').click()
  await page.getByText('No messages yet').waitFor()
  await button(page, 'Extend').click()
  await page.getByText('Expires in 24 hours').waitFor()

  await link(page, 'Delete address').click()
  await heading(page, 'Delete this address?')
  await button(page, 'Delete').click()
  await page.getByText('Address and mail deleted').waitFor()
  expect(await page.context().cookies()).toStrictEqual([])
  expect(await app().mail(address)).toBe(550)
})

test('the inbox refreshes automatically until it is stopped', async () => {
  const page = await visit('/', SCRIPTLESS)
  // The same page with a shorter refresh interval, until it shows the mail: a refresh could replace the navigation of a click.
  await page.route('**/plain?look=1', async (route) => {
    const response = await route.fetch()
    const text = await response.text()
    const body = text.includes('Hello') ? text : text.replace('content="15"', 'content="1"')
    await route.fulfill({ response, body })
  })
  const address = await getAddress(page)
  await page.goto(page.url())
  expect(await app().mail(address)).toBe(250)
  await link(page, 'Hello').waitFor()
  await link(page, 'Stop checking').click()
  await page.getByText('Automatic checking is off').waitFor()
  expect(await page.locator('meta[http-equiv=refresh]').count()).toBe(0)
})

test('a name can be chosen, and errors are shown beside it', async () => {
  allow({ complaint: /400/ })
  const page = await visit('/', SCRIPTLESS)
  await link(page, 'Choose a name').click()
  await page.getByLabel('Name', { exact: true }).fill('not..this')
  await button(page, 'Create address').click()
  await page.getByRole('alert').getByText('is not allowed').waitFor()
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('not..this')
  await page.getByLabel('Name', { exact: true }).fill('plain.of.my.own')
  await page.getByLabel('Domain').selectOption('@box.test')
  await button(page, 'Create address').click()
  await page.getByText('plain.of.my.own@box.test').waitFor()
})

test('an address that ends while the page is open is reported', async () => {
  allow({ complaint: /401/ })
  const page = await visit('/', SCRIPTLESS)
  await getAddress(page)
  app().moveClock(25 * 3_600)
  await link(page, 'Check now').click()
  await heading(page, 'This address has expired')
  await getAddress(page)
})

test('an attachment is saved under its name and never displayed', async () => {
  const page = await visit('/', SCRIPTLESS)
  expect(await app().mail(await getAddress(page), FILE)).toBe(250)
  await link(page, 'Check now').click()
  await link(page, 'A file').click()
  for (const [name, file] of [
    ['page.html', 'page.html'],
    ['Save as .eml', /^message-\d+\.eml$/],
  ] as const) {
    const [download] = await Promise.all([page.waitForEvent('download'), link(page, name).click()])
    expect(download.suggestedFilename()).toMatch(new RegExp(file))
    expect.assert(readFileSync(await download.path(), 'utf8').includes('<script>alert(1)</script>'))
  }
})

const HOSTILE = [
  'From: "<img src=x onerror=alert(1)>" <evil@sender.test>',
  'Subject: =?utf-8?Q?</title>=22=3E<script>alert(1)</script>?=',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain',
  '',
  '</pre><script>alert(1)</script><svg onload=alert(1)><meta http-equiv=refresh content="0;url=//evil.test">',
  'http://x.test/"onmouseover="alert(1) javascript:alert(1)',
  '--b',
  'Content-Type: text/html',
  'Content-Disposition: attachment; filename="\'><svg onload=alert(1)>.html"',
  '',
  'x',
  '--b--',
  '',
].join('\r\n')

test('with scripts, too, the inbox is accessible, its cookie is not, no URL contains it, and the text of a mail stays text', async () => {
  const page = await visit('/plain')
  const urls: string[] = []
  page.on('request', (request) => urls.push(request.url()))
  let dialogs = 0
  page.on('dialog', async (dialog) => {
    dialogs += 1
    await dialog.dismiss()
  })
  const address = await getAddress(page)
  const { value, name, ...flags } = await cookieOf(page)
  expect(name).toBe('mayfly-plain')
  expect([flags.httpOnly, flags.sameSite, flags.path, flags.secure]).toStrictEqual([
    true,
    'Strict',
    '/plain',
    false,
  ])
  expect(await page.evaluate('document.cookie')).toBe('')
  expect.assert(!(await page.content()).includes(value))
  // WCAG 2.2.1 requires that it can be stopped, which axe cannot detect.
  await checkAccessibility(page, 'html', ['meta-refresh'])
  expect.assert(await link(page, 'Stop checking').isVisible())

  expect(await app().mail(address, HOSTILE)).toBe(250)
  await link(page, 'Check now').click()
  await page.locator('.plain-list a').click()
  await page.getByText('<script>alert(1)</script><svg onload=alert(1)>').waitFor()
  const foreign = 'main script, main svg, main img, main meta, main [onload], main [onmouseover]'
  expect(await page.locator(foreign).count()).toBe(0)
  expect(await page.locator('main a[href^="javascript"]').count()).toBe(0)
  expect(dialogs).toBe(0)
  expect(urls.length).toBeGreaterThan(1)
  for (const url of urls) expect.assert(!url.includes(value))
})

test('senders are displayed as on the page with scripts', async () => {
  const names = [
    'Node.js Weekly',
    'Müller GmbH & Co.KG',
    'paypal。com',
    'pay\uff20bank',
    'A\u202eB',
  ]
  const page = await visit('/plain')
  const email = await getAddress(page)
  for (const name of names) {
    const word = `=?utf-8?B?${Buffer.from(name).toString('base64')}?=`
    expect(await app().mail(email, `From: ${word} <x@evil.test>\r\n\r\nHi.\r\n`)).toBe(250)
  }
  const senders = async (selector: string) => {
    await page
      .locator(selector)
      .nth(names.length - 1)
      .waitFor()
    return (await page.locator(selector).allTextContents()).toReversed()
  }
  await link(page, 'Check now').click()
  const plain = await senders('.plain-sender')
  expect(plain).toStrictEqual([...names.slice(0, 2), 'x@evil.test', 'x@evil.test', 'AB'])
  const { value: token } = await cookieOf(page)
  await storeMailboxes(page, [{ email, token }])
  await page.goto(app().url)
  expect(await senders('.mail-from bdi')).toStrictEqual(plain)
})

test('from another site a form deletes no mail and neither ends nor replaces the address; a link sends no cookie, and the inbox is one more click away', async () => {
  const EVIL = 'http://evil.test'
  allow({ origin: EVIL, complaint: /403/ })
  const page = await visit('/', SCRIPTLESS)
  expect(await app().mail(await getAddress(page))).toBe(250)
  await link(page, 'Check now').click()
  const mailPath = (await link(page, 'Hello').getAttribute('href')) ?? ''
  const before = await cookieOf(page)
  const form = (name: string, path: string) =>
    `<form method="post" action="${app().url}${path}"><button>${name}</button></form>`
  const body = `<!doctype html>${form('Delete', `${mailPath}/delete`)}${form('End', '/plain/end')}
    ${form('Replace', '/plain')}<a href="${app().url}/plain">go</a>`
  await page.route(`${EVIL}/**`, (route) => route.fulfill({ contentType: 'text/html', body }))

  for (const name of ['Delete', 'End', 'Replace']) {
    await page.goto(`${EVIL}/`)
    await button(page, name).click()
    await heading(page, 'Request rejected')
    expect((await cookieOf(page)).value, name).toBe(before.value)
    await link(page, 'Back to the inbox').click()
    await link(page, 'Hello').waitFor()
  }
  await page.goto(`${EVIL}/`)
  await link(page, 'go').click()
  await heading(page, 'A temporary address')
  await link(page, 'Open the address in this browser').click()
  await link(page, 'Hello').waitFor()
})

test('with scripts the button is hidden, and if the script fails to load it appears soon', async () => {
  allow({ complaint: /ERR_FAILED|ERR_BLOCKED/ })
  const page = await visit('/plain')
  await page.route('**/assets/*.js', (route) => route.abort())
  await page.goto(`${app().url}/`)
  expect(await button(page, 'Get an address').count()).toBe(0)
  const late = page.locator('.plain-late')
  await page.evaluate(
    'document.getAnimations().forEach((one) => { one.pause(); one.currentTime = 0 })',
  )
  expect(await late.isVisible()).toBe(false)
  await page.evaluate('document.getAnimations().forEach((one) => one.finish())')
  await late.waitFor({ state: 'visible' })
  await late.getByRole('link').click()
  await getAddress(page)
})
