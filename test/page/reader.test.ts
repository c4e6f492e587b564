import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { describe, test } from 'vitest'
import { mailboxOf, opener, row, waitForInbox } from './support/inbox.ts'
import { htmlMail, textMail, welcomeMail } from './support/mails.ts'
import { openPages } from './support/pages.ts'

const visits = openPages()
const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] }

/** A page with the newest of these mails opened. */
async function read(...mails: string[]): Promise<Page> {
  const page = await visits.visit('/', CLIPBOARD)
  const { email } = await waitForInbox(page)
  for (const raw of mails) assert.equal(await visits.app().mail(email, raw), 250)
  await row(page, /./)
    .nth(mails.length - 1)
    .waitFor()
  await page.locator('.mail-open').first().click()
  await page.locator('article.reader[aria-busy=false]').waitFor()
  return page
}

const frame = (page: Page) => page.frameLocator('.mail-frame')
const tab = (page: Page, name: string) => page.getByRole('tab', { name, exact: true })

/** When the only mail was received, according to the API. */
async function receivedAt(page: Page): Promise<string | undefined> {
  const { token } = await mailboxOf(page)
  const response = await fetch(`${visits.app().url}/api/check-mail`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const { messages } = (await response.json()) as { messages: { received_at_iso: string }[] }
  return messages[0]?.received_at_iso
}

describe('the header of a message', () => {
  test('shows sender, recipient, subject and time, and no code if there is none', async () => {
    const page = await read(textMail('Hi.', { subject: 'Lunch', from: 'Ann <ann@a.test>' }))
    const article = page.getByRole('article', { name: 'Lunch' })
    await article.getByText('Ann', { exact: true }).waitFor()
    await article.getByText('ann@a.test', { exact: true }).waitFor()
    await article.getByRole('button', { name: 'Details' }).click()
    await article.getByText('You <you@box.test>').waitFor()
    const time = await article.locator('time').first().getAttribute('datetime')
    assert.ok(time)
    assert.equal(time, await receivedAt(page))
    await page.locator('.mail-text').waitFor()
    assert.equal(await page.getByRole('region', { name: 'Your code' }).count(), 0)
  })
  test('shows the Reply-To address, and the address of a sender who is named like another', async () => {
    const page = await read(
      textMail('Hi.', {
        from: '"service@bank.test" <x@evil.test>',
        more: ['Reply-To: other@else.test'],
      }),
    )
    await page.locator('.reader-lines', { hasText: 'other@else.test' }).waitFor()
    const from = page.locator('.reader-from > p')
    assert.match(await from.innerText(), /x@evil\.test$/)
    await page.getByText('uses the name “service@bank.test”').waitFor()
    assert.match(await row(page, /./).innerText(), /^x@evil\.test/m)
  })
})

describe('a code', () => {
  test('is displayed large, and copied with one click', async () => {
    const page = await read(textMail('Your verification code is 482913.'))
    const card = page.getByRole('region', { name: 'Your code' })
    assert.equal(await card.locator('.code-big').innerText(), '482913')
    await page.getByRole('button', { name: 'Copy code 482913' }).click()
    const toast = page.locator('.toast', { hasText: 'Code 482913 copied' })
    await toast.waitFor()
    await card.getByRole('button', { name: 'Copy' }).click()
    await card.getByRole('status').getByText('Copied').waitFor()
    // It would seem to be about this copy.
    await toast.waitFor({ state: 'detached' })
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), '482913')
  })
})

describe('the message', () => {
  test('is displayed with its layout, embedded images and the host of its main link', async () => {
    const page = await read(welcomeMail())
    const picture = frame(page).getByRole('img', { name: 'Acme' })
    await picture.waitFor()
    assert.match((await picture.getAttribute('src')) ?? '', /^data:image\/png;base64,/)
    const box = await picture.boundingBox()
    assert.deepEqual([box?.width, box?.height], [120, 24])
    await page.getByText('2 remote images blocked').waitFor()
    // One that is not loaded keeps its place, with its alternative text.
    const blocked = frame(page).getByRole('img', { name: 'A view of the sea' })
    const place = await blocked.boundingBox()
    assert.deepEqual([place?.width, place?.height], [300, 80])
    assert.match(
      (await blocked.getAttribute('src')) ?? '',
      /^data:image\/svg\+xml,.*A%20view%20of%20the%20sea/,
    )

    // Its main link shows its host before it is opened, and opens without a referrer or opener.
    const card = page.getByRole('region', { name: 'Confirmation link' })
    assert.match(await card.locator('.link-host').innerText(), /login\.acme\.test$/)
    const link = card.getByRole('link', { name: 'Open' })
    assert.equal(await link.getAttribute('href'), 'https://login.acme.test/verify?t=1')
    assert.equal(await link.getAttribute('rel'), 'noopener noreferrer')
    assert.equal(await link.getAttribute('target'), '_blank')
  })
  test('is in a frame without scripts and without our origin; clicks and arrow keys lead to its other views', async () => {
    const page = await read(htmlMail('<p>Hi.</p>', { more: ['X-Odd: <b>bold</b>'] }))
    const shown = page.locator('.mail-frame')
    assert.equal(await shown.getAttribute('sandbox'), 'allow-popups allow-popups-to-escape-sandbox')
    const inside = (await shown.getAttribute('srcdoc')) ?? ''
    assert.match(
      inside,
      /^<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none';/,
    )
    assert.match(inside, /img-src data:;/)
    assert.equal(await shown.getAttribute('title'), 'Message: Hello')

    await tab(page, 'Headers').click()
    await page.getByText('<b>bold</b>').waitFor()
    await tab(page, 'Source').click()
    const source = await page.locator('.mail-raw').innerText()
    assert.match(source, /^Return-Path: .*\nDelivered-To: /)
    assert.match(source, /\n<p>Hi\.<\/p>\n/)

    await tab(page, 'Message').click()
    for (const [key, name] of [
      ['ArrowRight', 'Text'],
      ['End', 'Source'],
      ['ArrowRight', 'Message'],
      ['ArrowLeft', 'Source'],
      ['Home', 'Message'],
    ] as const) {
      await page.keyboard.press(key)
      await page.locator(`[role=tab][aria-selected=true]:focus`).getByText(name).waitFor()
    }
  })
  test('has all its links point to the leave page', async () => {
    const page = await read(htmlMail('<a href="https://bank.test@evil.test/x">Your bank</a>'))
    const [other] = await Promise.all([
      page.context().waitForEvent('page'),
      frame(page).getByRole('link', { name: 'Your bank' }).click(),
    ])
    await other.getByText('evil.test', { exact: true }).waitFor()
    assert.equal(await other.evaluate('opener'), null)
    assert.equal(await other.evaluate('document.referrer'), '')
  })
  test('is also available as text, with escaped links', async () => {
    const page = await read(textMail('See https://a.test/b"onmouseover=alert(1) now'))
    const link = page.locator('.mail-text').getByRole('link')
    assert.equal(await link.innerText(), 'https://a.test/b')
    assert.equal(
      await link.getAttribute('href'),
      `/leave#${encodeURIComponent('https://a.test/b')}`,
    )
    assert.equal(
      await page.locator('.mail-text').innerText(),
      'See https://a.test/b"onmouseover=alert(1) now\n',
    )
  })
  test('has its source truncated if it is too long', async () => {
    const page = await read(textMail('0123456789'.repeat(7).concat('\r\n').repeat(5_000)))
    await tab(page, 'Source').click()
    await page.getByText('The first 256 kB of 360 kB').waitFor()
    const source = (await page.locator('.mail-raw').textContent()) ?? ''
    assert.ok(source.length > 250_000 && source.length <= 256_000)
  })
  test('lists its links with their hosts and what is odd about them, without a request', async () => {
    const page = await read(
      htmlMail(
        '<a href="https://evil.test/x">bank.test/login</a> <a href="http://192.0.2.1/y">Go</a> <a href="https://www.shop.test/">shop.test</a>',
      ),
    )
    await tab(page, '3 links').click()
    const item = (name: string) => page.locator('.file', { hasText: name }).locator('.file-risk')
    await item('evil.test').getByText('The link text shows a different site: bank.test').waitFor()
    assert.equal(await item('192.0.2.1').count(), 2)
    assert.equal(await item('www.shop.test').count(), 0)
  })
  for (const [declared, colours] of [
    ['', ['rgb(255, 255, 255)', 'rgb(29, 37, 41)']],
    ['<meta name="color-scheme" content="light dark">', ['rgb(18, 18, 18)', 'rgb(255, 255, 255)']],
  ] as const) {
    test(`in dark mode is ${declared ? 'as the sender has designed it for that' : 'light unless the sender declares otherwise'}`, async () => {
      const page = await visits.visit('/', { colorScheme: 'dark' })
      const { email } = await waitForInbox(page)
      const html = `<html><head>${declared}<style>p { background: white } @media (prefers-color-scheme: dark) { p { background: black } }</style></head><body><p>Hi.</p></body></html>`
      await visits.app().mail(email, htmlMail(html))
      await page.locator('.mail-open').click()
      const text = frame(page).locator('p')
      await text.waitFor()
      // Frames without scripts can still be examined from outside.
      const [background, colour] = await text.evaluate((element) => {
        const style = element.ownerDocument.defaultView?.getComputedStyle(element)
        return [style?.backgroundColor, style?.color]
      })
      assert.equal(background, declared ? 'rgb(0, 0, 0)' : 'rgb(255, 255, 255)')
      assert.equal(colour, colours[1])
    })
  }
  test('is displayed as text if its layout would block the browser', async () => {
    const page = await read(htmlMail('<i>a</i>'.repeat(15_000)))
    await page.getByText('This message is too large to display as HTML').waitFor()
    assert.equal(await page.locator('.mail-frame').count(), 0)
  })
})

describe('navigation', () => {
  test('leads to the older and the newer message, and stops at both ends', async () => {
    const page = await read(
      ...['First', 'Second', 'Third'].map((subject) => textMail('Hi.', { subject })),
    )
    const newer = page.getByRole('button', { name: 'Newer message' })
    const older = page.getByRole('button', { name: 'Older message' })
    await page.getByRole('article', { name: 'Third' }).waitFor()
    assert.equal(await newer.isDisabled(), true)
    await older.click()
    await page.getByRole('article', { name: 'Second' }).waitFor()
    assert.equal(await older.evaluate((button) => button.matches(':focus')), true)
    await older.click()
    await page.getByRole('article', { name: 'First' }).waitFor()
    assert.equal(await older.isDisabled(), true)
    await newer.click()
    await page.getByRole('article', { name: 'Second' }).waitFor()
  })
  test('to a message deleted elsewhere shows that it is gone', async () => {
    visits.allow({ complaint: /404/ })
    const page = await visits.visit('/')
    const { email } = await waitForInbox(page)
    await visits.app().mail(email, textMail('1', { subject: 'Here' }))
    await row(page, 'Here').waitFor()
    // Between the list and the request for the message.
    await page.route('**/api/read-mail?*', async (route) => {
      const url = new URL(route.request().url())
      url.searchParams.set('id', '1')
      await route.continue({ url: url.href })
    })
    await opener(page, 'Here').click()
    await page.getByText('This message was deleted').waitFor()
  })
  for (const [kind, raw, body] of [
    ['text', textMail('All is well.'), (page: Page) => page.locator('.mail-text')],
    ['HTML', htmlMail('<p>All is well.</p>'), (page: Page) => frame(page).locator('p')],
  ] as const) {
    test(`${kind} that failed to load stays unread, and can be requested again`, async () => {
      visits.allow({ complaint: /Failed to load resource/ })
      const page = await visits.visit('/')
      const { email } = await waitForInbox(page)
      await visits.app().mail(email, raw)
      const unread = page.locator('.mail.unread')
      await unread.waitFor()
      await page.route('**/api/read-mail?*', (route) => route.abort())
      await page.locator('.mail-open').click()
      await page.getByText('Could not reach the server').waitFor()
      assert.equal(await unread.count(), 1)
      assert.equal(await page.title(), '(1) Inbox – Mayfly')
      await page.unroute('**/api/read-mail?*')
      await page.getByRole('article').getByRole('button', { name: 'Try again' }).click()
      await body(page).filter({ hasText: 'All is well.' }).waitFor()
      await unread.waitFor({ state: 'detached' })
      assert.equal(await page.title(), 'Inbox – Mayfly')
    })
  }
})
