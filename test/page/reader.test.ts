import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { mailboxOf, opener, row, waitForInbox } from '../kit/page/inbox.ts'
import { htmlMail, textMail, welcomeMail } from '../kit/page/mails.ts'
import { openPages } from '../kit/page/pages.ts'

const visits = openPages()
const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] }

async function openInbox(options: BrowserContextOptions = {}): Promise<Page> {
  const page = await visits.visit('/', options)
  await waitForInbox(page)
  return page
}

/** Sends a mail with this subject, which no other row contains, and opens it. */
async function read(page: Page, raw: string, subject: string): Promise<void> {
  const { email } = await mailboxOf(page)
  expect(await visits.app().mail(email, raw)).toBe(250)
  await opener(page, subject).click()
  await page
    .locator('article.reader[aria-busy=false]')
    .filter({ has: page.getByRole('heading', { name: subject }) })
    .waitFor()
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

test('the header of a message shows sender, recipient, subject, time and Reply-To; a code is displayed large, and copied with one click', async () => {
  const page = await openInbox(CLIPBOARD)
  await read(page, textMail('Hi.', { subject: 'Lunch', from: 'Ann <ann@a.test>' }), 'Lunch')
  const article = page.getByRole('article', { name: 'Lunch' })
  await article.getByText('Ann', { exact: true }).waitFor()
  await article.getByText('ann@a.test', { exact: true }).waitFor()
  await article.getByRole('button', { name: 'Details' }).click()
  await article.getByText('You <you@box.test>').waitFor()
  const time = await article.locator('time').first().getAttribute('datetime')
  expect(time).toBeTruthy()
  expect(time).toBe(await receivedAt(page))
  await page.locator('.mail-text').waitFor()
  const card = page.getByRole('region', { name: 'Your code' })
  expect(await card.count()).toBe(0)

  // A sender who is named like another is shown by its address.
  const from = '"service@bank.test" <x@evil.test>'
  const more = ['Reply-To: other@else.test']
  await read(page, textMail('Hi.', { subject: 'Account', from, more }), 'Account')
  await page.locator('.reader-lines', { hasText: 'other@else.test' }).waitFor()
  await expect.poll(() => page.locator('.reader-from > p').innerText()).toMatch(/x@evil\.test$/)
  await page.getByText('uses the name “service@bank.test”').waitFor()
  await expect.poll(() => row(page, 'Account').innerText()).toMatch(/^x@evil\.test/m)

  await read(page, textMail('Your verification code is 482913.', { subject: 'Sign in' }), 'Sign in')
  await expect.poll(() => card.locator('.code-big').innerText()).toBe('482913')
  await page.getByRole('button', { name: 'Copy code 482913' }).click()
  const toast = page.locator('.toast', { hasText: 'Code 482913 copied' })
  await toast.waitFor()
  await card.getByRole('button', { name: 'Copy' }).click()
  await card.getByRole('status').getByText('Copied').waitFor()
  // It would seem to be about this copy.
  await toast.waitFor({ state: 'detached' })
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe('482913')
})

describe('the message', () => {
  test('is displayed with its layout, images and main link, in a frame without scripts and our origin; its links point to the leave page, and clicks and arrow keys lead to its other views', async () => {
    const page = await openInbox(CLIPBOARD)
    await read(page, welcomeMail(), 'Confirm your address')
    const picture = frame(page).getByRole('img', { name: 'Acme' })
    await picture.waitFor()
    await expect
      .poll(async () => (await picture.getAttribute('src')) ?? '')
      .toMatch(/^data:image\/png;base64,/)
    await expect.poll(() => picture.boundingBox()).toMatchObject({ width: 120, height: 24 })
    await page.getByText('2 remote images blocked').waitFor()
    // One that is not loaded keeps its place, with its alternative text.
    const blocked = frame(page).getByRole('img', { name: 'A view of the sea' })
    await expect.poll(() => blocked.boundingBox()).toMatchObject({ width: 300, height: 80 })
    await expect
      .poll(async () => (await blocked.getAttribute('src')) ?? '')
      .toMatch(/^data:image\/svg\+xml,.*A%20view%20of%20the%20sea/)

    // Its main link shows its host before it is opened, and opens without a referrer or opener.
    const card = page.getByRole('region', { name: 'Confirmation link' })
    await expect.poll(() => card.locator('.link-host').innerText()).toMatch(/login\.acme\.test$/)
    const link = card.getByRole('link', { name: 'Open' })
    await expect.poll(() => link.getAttribute('href')).toBe('https://login.acme.test/verify?t=1')
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer')
    expect(await link.getAttribute('target')).toBe('_blank')

    const html = '<p>Hi.</p><a href="https://bank.test@evil.test/x">Your bank</a>'
    await read(page, htmlMail(html, { more: ['X-Odd: <b>bold</b>'] }), 'Hello')
    const shown = page.locator('.mail-frame')
    expect(await shown.getAttribute('sandbox')).toBe('allow-popups allow-popups-to-escape-sandbox')
    const inside = (await shown.getAttribute('srcdoc')) ?? ''
    expect(inside).toMatch(
      /^<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none';/,
    )
    expect(inside).toMatch(/img-src data:;/)
    await expect.poll(() => shown.getAttribute('title')).toBe('Message: Hello')
    const [other] = await Promise.all([
      page.context().waitForEvent('page'),
      frame(page).getByRole('link', { name: 'Your bank' }).click(),
    ])
    await other.getByText('evil.test', { exact: true }).waitFor()
    expect(await other.evaluate('opener')).toBe(null)
    expect(await other.evaluate('document.referrer')).toBe('')
    await other.close()

    await tab(page, 'Headers').click()
    await page.getByText('<b>bold</b>').waitFor()
    await page.getByRole('button', { name: 'Copy: Headers' }).click()
    await page.getByRole('status').getByText('Copied').waitFor()
    await expect
      .poll(() => page.evaluate('navigator.clipboard.readText()'))
      .toContain('X-Odd: <b>bold</b>')
    await tab(page, 'HTML code').click()
    await expect.poll(async () => (await page.locator('.mail-raw').innerText()).trim()).toBe(html)
    await page.getByRole('button', { name: 'Copy: HTML code' }).waitFor()
    await tab(page, 'Source').click()
    await expect
      .poll(() => page.locator('.mail-raw').innerText())
      .toMatch(/^Return-Path: .*\nDelivered-To: .*\n<p>Hi\.<\/p><a href=/s)

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

  test('is also available as text with escaped links, as a truncated source, and as text alone if its layout would block the browser', async () => {
    const page = await openInbox()
    const text = 'See https://a.test/b"onmouseover=alert(1) now'
    await read(page, textMail(text, { subject: 'Escaped' }), 'Escaped')
    const link = page.locator('.mail-text').getByRole('link')
    await expect.poll(() => link.innerText()).toBe('https://a.test/b')
    await expect
      .poll(() => link.getAttribute('href'))
      .toBe(`/leave#${encodeURIComponent('https://a.test/b')}`)
    await expect.poll(() => page.locator('.mail-text').innerText()).toBe(`${text}\n`)

    const long = '0123456789'.repeat(7).concat('\r\n').repeat(5_000)
    await read(page, textMail(long, { subject: 'Endless' }), 'Endless')
    await tab(page, 'Source').click()
    await page.getByText('The first 256 kB of 360 kB').waitFor()
    const length = async () => (await page.locator('.mail-raw').textContent())?.length
    await expect.poll(length).toBeGreaterThan(250_000)
    expect(await length()).toBeLessThanOrEqual(256_000)

    await read(page, htmlMail('<i>a</i>'.repeat(15_000), { subject: 'Oversized' }), 'Oversized')
    await page.getByText('This message is too large to display as HTML').waitFor()
    expect(await page.locator('.mail-frame').count()).toBe(0)

    // The list of links says what is odd about them, without a request.
    const links =
      '<a href="https://evil.test/x">bank.test/login</a> <a href="http://192.0.2.1/y">Go</a> <a href="https://www.shop.test/">shop.test</a>'
    await read(page, htmlMail(links, { subject: 'Linked' }), 'Linked')
    await tab(page, '3 links').click()
    const item = (name: string) => page.locator('.file', { hasText: name }).locator('.file-risk')
    await item('evil.test').getByText('The link text shows a different site: bank.test').waitFor()
    await expect.poll(() => item('192.0.2.1').count()).toBe(2)
    expect(await item('www.shop.test').count()).toBe(0)
  })

  test('in dark mode is light, unless the sender has designed it for that', async () => {
    const page = await openInbox({ colorScheme: 'dark' })
    for (const [subject, declared, expected] of [
      ['Undeclared', '', ['rgb(255, 255, 255)', 'rgb(29, 37, 41)']],
      [
        'Designed',
        '<meta name="color-scheme" content="light dark">',
        ['rgb(0, 0, 0)', 'rgb(255, 255, 255)'],
      ],
    ] as const) {
      const html = `<html><head>${declared}<style>p { background: white } @media (prefers-color-scheme: dark) { p { background: black } }</style></head><body><p>It is ${subject}.</p></body></html>`
      await read(page, htmlMail(html, { subject }), subject)
      const text = frame(page).locator('p', { hasText: subject })
      await text.waitFor()
      // Frames without scripts can still be examined from outside.
      const colours = await text.evaluate((element) => {
        const style = element.ownerDocument.defaultView?.getComputedStyle(element)
        return [style?.backgroundColor, style?.color]
      })
      expect(colours, subject).toStrictEqual(expected)
    }
  })

  test('in dark mode follows the theme if it has no colors; others can be darkened, and each shown in its original colors', async () => {
    const page = await openInbox({ colorScheme: 'dark' })
    const body = '<p id="p" style="margin:0;font:700 40px sans-serif">Words to be read</p>'
    const coloured = `<body bgcolor="#ffffff"><div style="color:#333;background-color:#fff">${body}</div></body>`
    const lightness = async () => {
      await frame(page).locator('#p').waitFor()
      return await lightnessOf(page, '.mail-frame')
    }
    const dark = page.getByRole('button', { name: 'Dark colors' })
    const original = page.getByRole('button', { name: 'Original colors' })
    await read(page, htmlMail(coloured, { subject: 'Coloured' }), 'Coloured')
    const background = async () => (await lightness()).background
    await expect.poll(background).toBeGreaterThan(0.9)
    await dark.click()
    await original.waitFor()
    await expect.poll(background).toBeLessThan(0.05)
    expect((await lightness()).contrast, 'readable').toBeGreaterThanOrEqual(4.5)
    await original.click()
    await dark.waitFor()
    await expect.poll(background).toBeGreaterThan(0.9)

    await page.reload()
    await opener(page, 'Coloured').waitFor()
    await read(page, htmlMail(body, { subject: 'Plain' }), 'Plain')
    await original.waitFor()
    await expect.poll(background).toBeLessThan(0.05)
    expect((await lightness()).contrast, 'readable').toBeGreaterThanOrEqual(4.5)
    await original.click()
    await dark.waitFor()
    await expect.poll(background).toBeGreaterThan(0.9)
    // In light mode there is nothing to choose.
    await page.emulateMedia({ colorScheme: 'light' })
    await dark.waitFor({ state: 'detached' })
  })
})

describe('navigation', () => {
  test('leads to the older and the newer message, stops at both ends, and shows that a message deleted elsewhere is gone', async () => {
    visits.allow({ complaint: /404/ })
    const page = await openInbox()
    const { email } = await mailboxOf(page)
    for (const subject of ['First', 'Second', 'Third'])
      expect(await visits.app().mail(email, textMail('Hi.', { subject }))).toBe(250)
    await opener(page, 'Third').click()
    const newer = page.getByRole('button', { name: 'Newer message' })
    const older = page.getByRole('button', { name: 'Older message' })
    await page.getByRole('article', { name: 'Third' }).waitFor()
    await expect.poll(() => newer.isDisabled()).toBe(true)
    await older.click()
    await page.getByRole('article', { name: 'Second' }).waitFor()
    await expect.poll(() => older.evaluate((button) => button.matches(':focus'))).toBe(true)
    await older.click()
    await page.getByRole('article', { name: 'First' }).waitFor()
    await expect.poll(() => older.isDisabled()).toBe(true)
    await newer.click()
    await page.getByRole('article', { name: 'Second' }).waitFor()

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

  test('to a message that failed to load leaves it unread, and it can be requested again', async () => {
    visits.allow({ complaint: /Failed to load resource/ })
    const page = await openInbox()
    const { email } = await mailboxOf(page)
    for (const [subject, raw, body] of [
      ['In text', textMail('All is well.', { subject: 'In text' }), page.locator('.mail-text')],
      [
        'In HTML',
        htmlMail('<p>All is well.</p>', { subject: 'In HTML' }),
        frame(page).locator('p'),
      ],
    ] as const) {
      await visits.app().mail(email, raw)
      const unread = page.locator('.mail.unread', { hasText: subject })
      await unread.waitFor()
      await page.route('**/api/read-mail?*', (route) => route.abort())
      await opener(page, subject).click()
      await page.getByText('Could not reach the server').waitFor()
      expect(await unread.count()).toBe(1)
      await expect.poll(() => page.title()).toBe('(1) Inbox – Mayfly')
      await page.unroute('**/api/read-mail?*')
      await page.getByRole('article').getByRole('button', { name: 'Try again' }).click()
      await body.filter({ hasText: 'All is well.' }).waitFor()
      await unread.waitFor({ state: 'detached' })
      await expect.poll(() => page.title()).toBe('Mayfly – disposable email, no sign-up')
    }
  })
})

/** The luminance of the background, and the contrast of the text to it, as painted. */
async function lightnessOf(page: Page, part: string) {
  const image = (await page.locator(part).screenshot()).toString('base64')
  const luminances = (await page.evaluate(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${image}'
    await image.decode()
    const canvas = new OffscreenCanvas(image.width, Math.min(image.height, 100))
    const context = canvas.getContext('2d')
    context.drawImage(image, 0, 0)
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height)
    const linear = (part) => part <= 10 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4
    const counts = new Map()
    for (let at = 0; at < data.length; at += 4) {
      const [red, green, blue] = [...data.slice(at, at + 3)].map(linear)
      const light = (0.2126 * red + 0.7152 * green + 0.0722 * blue).toFixed(4)
      counts.set(light, (counts.get(light) ?? 0) + 1)
    }
    const all = [...counts].sort((a, b) => b[1] - a[1]).map(([light]) => Number(light))
    return { background: all[0], least: Math.min(...all), most: Math.max(...all) }
  })()`)) as { background: number; least: number; most: number }
  const { background, least, most } = luminances
  return { background, contrast: (most + 0.05) / (least + 0.05) }
}
