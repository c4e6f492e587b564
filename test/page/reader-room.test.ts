import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { ZOOMED } from '../kit/page/browser.ts'
import { mailboxOf, opener, waitForInbox } from '../kit/page/inbox.ts'
import { htmlMail, newsletterMail, textMail } from '../kit/page/mails.ts'
import { checkAccessibility, openPages } from '../kit/page/pages.ts'
import { waitUntil } from '../kit/wait-until.ts'

const { app, visit } = openPages()

async function openInbox(options: BrowserContextOptions = {}): Promise<Page> {
  const page = await visit('/', options)
  await waitForInbox(page)
  return page
}

async function read(page: Page, raw: string, subject: string): Promise<void> {
  const { email } = await mailboxOf(page)
  expect(await app().mail(email, raw)).toBe(250)
  await opener(page, subject).click()
  await page
    .locator('article.reader[aria-busy=false]')
    .filter({ has: page.getByRole('heading', { name: subject }) })
    .waitFor()
}

async function readNewsletter(page: Page): Promise<void> {
  await read(page, newsletterMail(), 'Trains')
  await page.frameLocator('.mail-frame').getByText('The Weekly').waitFor()
}

/** Height of the visible part of the mail, its distance from the top, and how many parts of the pane scroll. */
async function measure(page: Page) {
  return (await page.evaluate(`(() => {
    const { top, bottom } = document.querySelector('.mail-frame').getBoundingClientRect()
    const scrolls = (one) => one.scrollHeight > one.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(one).overflowY)
    return {
      visible: Math.min(bottom, innerHeight) - top,
      top,
      scrollers: [...document.querySelectorAll('.reader-pane, .reader-pane *')].filter(scrolls).length + 1,
      isPageLonger: document.documentElement.scrollHeight > innerHeight,
    }
  })()`)) as { visible: number; top: number; scrollers: number; isPageLonger: boolean }
}

describe('an opened newsletter', () => {
  test('has at least 400 px on a laptop, 330 px on a small one, and only its frame scrolls; it fills the window or is as wide as on a phone on request', async () => {
    const laptop = { width: 1366, height: 768 }
    const page = await openInbox({ viewport: laptop })
    await readNewsletter(page)
    for (const [width, height, least] of [
      [1366, 768, 400],
      [1024, 700, 330],
    ] as const) {
      await page.setViewportSize({ width, height })
      await expect
        .poll(async () => (await measure(page)).visible, { message: `${width} × ${height}` })
        .toBeGreaterThanOrEqual(least)
      await expect.poll(async () => (await measure(page)).scrollers).toBe(1)
    }
    // Blocked images keep their boxes; one that declares only its width keeps that.
    const images = page.frameLocator('.mail-frame').locator('img')
    await expect
      .poll(() =>
        images.evaluateAll((all) =>
          all.slice(0, 2).map(({ clientWidth, clientHeight }) => [clientWidth, clientHeight]),
        ),
      )
      .toStrictEqual([
        [556, 224],
        [492, 48],
      ])
    // A long text scrolls in the same place, and nothing else does.
    await page.getByRole('tab', { name: 'Text', exact: true }).click()
    const scrolling = `[...document.querySelectorAll('.reader-pane, .reader-pane *')]
      .filter((one) => one.scrollHeight > one.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(one).overflowY))
      .map((one) => one.className)`
    await expect.poll(() => page.evaluate(scrolling)).toStrictEqual(['tab-view'])

    await page.getByRole('tab', { name: 'Message', exact: true }).click()
    await page.frameLocator('.mail-frame').getByText('The Weekly').waitFor()
    await page.setViewportSize(laptop)
    const width = async () =>
      Math.round((await page.locator('.mail-frame').boundingBox())?.width ?? 0)
    const before = await width()
    const toggle = page.getByRole('button', { name: 'Phone width' })
    await toggle.click()
    await expect.poll(() => width()).toBe(375)
    await expect.poll(() => toggle.getAttribute('aria-pressed')).toBe('true')
    await toggle.click()
    await expect.poll(() => width()).toBe(before)

    await page.getByRole('button', { name: 'Full window', exact: true }).click()
    const leave = page.getByRole('button', { name: 'Exit full window' })
    await leave.waitFor()
    await expect.poll(async () => (await measure(page)).visible).toBeGreaterThan(600)
    await expect.poll(async () => (await measure(page)).isPageLonger).toBe(false)
    for (const part of ['.list', '.address', '.top']) {
      await page.locator(part).waitFor({ state: 'hidden' })
    }
    await page.keyboard.press('Escape')
    await leave.waitFor({ state: 'detached' })
    await page.locator('.list').waitFor()
    await page.getByRole('heading', { name: 'Trains' }).waitFor()
  })

  test('on a phone has everything below a one-line head, upright or not, and its details, views and actions behind two buttons', async () => {
    const upright = { width: 360, height: 740 }
    const onItsSide = { width: 844, height: 390 }
    const page = await openInbox({ viewport: upright, hasTouch: true })
    await readNewsletter(page)
    for (const size of [onItsSide, upright]) {
      await page.setViewportSize(size)
      const look = async () => {
        const { visible, top, scrollers, isPageLonger } = await measure(page)
        const below = Math.round(Math.abs(size.height - visible - top))
        return { below, isTop: top <= 56, scrollers, isPageLonger }
      }
      await expect
        .poll(look)
        .toStrictEqual({ below: 0, isTop: true, scrollers: 1, isPageLonger: false })
    }

    await page.getByRole('button', { name: 'Details' }).tap()
    await page.getByText('The Weekly <news@weekly.test>').waitFor()
    await checkAccessibility(page)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'More' }).tap()
    await checkAccessibility(page)
    await page.getByRole('button', { name: 'Text', exact: true }).tap()
    await page.locator('.mail-text').waitFor()
    await page.getByRole('button', { name: 'Print' }).waitFor({ state: 'hidden' })

    // One scroller also with a claimed name, codes and an image.
    await page.getByRole('button', { name: 'Back to the list' }).tap()
    await page.setViewportSize(onItsSide)
    const image = '<img src="https://images.test/a.png" width="24" alt="">'
    const html = `${image}<p>Your code is 482913. The backup code is 731204.</p>`.padEnd(
      9_000,
      '<p>More.</p>',
    )
    const from = '"service@bank.test" <x@evil.test>'
    await read(page, htmlMail(html, { subject: 'Codes', from }), 'Codes')
    await page.locator('.codes-other').waitFor()
    const frame = page.frameLocator('.mail-frame')
    await frame.getByText('482913').waitFor()
    await page.getByText('1 remote image blocked').waitFor()
    await expect
      .poll(() => frame.locator('img').boundingBox(), { message: 'an icon is square' })
      .toMatchObject({ width: 24, height: 24 })
    await expect.poll(async () => (await measure(page)).scrollers).toBe(1)
  })
})

const scaleOf = (page: Page) =>
  page.evaluate(`(() => {
    const frame = document.querySelector('.mail-frame')
    return frame.getBoundingClientRect().width / frame.offsetWidth
  })()`)
const hiddenWidth = (page: Page) =>
  page
    .frameLocator('.mail-frame')
    .locator('html')
    .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)

/** Resolves when the scale of the mail on display has been set. */
async function waitForScale(page: Page): Promise<void> {
  await page.locator('.print-copy.ready').waitFor({ state: 'attached' })
  await page.evaluate(
    'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))',
  )
}

test('a mail of a fixed width is scaled to fit a phone, also after it is turned; one that would be less than half as large keeps its size', async () => {
  const page = await openInbox({ viewport: { width: 390, height: 844 }, hasTouch: true })
  await readNewsletter(page)
  await expect.poll(() => scaleOf(page), { message: 'a table of 560 px' }).toBeCloseTo(0.69, 1)
  await expect.poll(() => hiddenWidth(page)).toBe(0)
  await page.setViewportSize({ width: 844, height: 390 })
  await expect.poll(() => scaleOf(page)).toBeCloseTo(1, 2)
  await page.setViewportSize({ width: 390, height: 844 })
  await expect.poll(() => scaleOf(page)).toBeCloseTo(0.69, 1)

  for (const [subject, html, least] of [
    ['Plans', '<table width="2000"><tr><td>Very wide</td></tr></table>', 1_000],
    ['Log', `<pre>${'A long line. '.repeat(200)}</pre>`, 0],
  ] as const) {
    await page.getByRole('button', { name: 'Back to the list' }).tap()
    await read(page, htmlMail(html, { subject }), subject)
    await waitForScale(page)
    expect(await scaleOf(page), subject).toBe(1)
    const hidden = await hiddenWidth(page)
    expect(least === 0 ? hidden === 0 : hidden > least, `${subject}: ${hidden} px`).toBe(true)
  }
})

test('a mail of a fixed width is not scaled in a zoomed window', async () => {
  const page = await openInbox({ viewport: ZOOMED })
  await readNewsletter(page)
  await waitForScale(page)
  expect(await scaleOf(page)).toBe(1)
})

test('on narrow screens neither the badge of the sender nor the subject is cut off by what is beside it', async () => {
  const page = await openInbox({ viewport: { width: 820, height: 1180 } })
  await read(page, newsletterMail(), 'Trains')
  const subject = page.locator('.reader-title h2')
  await expect
    .poll(() => subject.evaluate((h2) => h2.scrollHeight <= h2.clientHeight + 1))
    .toBe(true)
  const { width = 0 } = (await subject.boundingBox()) ?? {}
  expect(width, `${width} px for the subject`).toBeGreaterThan(400)
  const address = page.locator('.address-text, .address-text *')
  const cut = await address.evaluateAll(
    (parts) =>
      parts.filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 1).length,
  )
  expect(cut, 'the address is cut off').toBe(0)
  await page.getByRole('button', { name: 'More' }).last().click()
  await page.getByRole('button', { name: 'Phone width' }).waitFor()
  await page.keyboard.press('Escape')

  await page.setViewportSize({ width: 320, height: 640 })
  const places = `(() => {
    const badge = document.querySelector('.reader-from .badge')
    // The longest that most mails have.
    badge.firstChild.data = 'Unverified sender'
    const text = document.createRange()
    text.setStart(badge.firstChild, 0)
    text.setEnd(badge.firstChild, 1)
    return {
      subject: document.querySelector('.reader-title h2 bdi').getBoundingClientRect().bottom,
      badge: badge.getBoundingClientRect().top,
      start: badge.getBoundingClientRect().left,
      letter: text.getBoundingClientRect().left,
    }
  })()`
  const look = async () => {
    const found = (await page.evaluate(places)) as Record<
      'subject' | 'badge' | 'start' | 'letter',
      number
    >
    return { below: found.badge - found.subject, padding: found.letter - found.start }
  }
  await expect.poll(async () => (await look()).below).toBeGreaterThanOrEqual(1)
  expect((await look()).padding).toBeGreaterThan(0)
})

test('the text in place of a blocked image is not stretched, however large the image is displayed', async () => {
  const page = await openInbox()
  const image = (style: string) =>
    `<img src="https://img.test/${style.length}.png" width="200" height="40" alt="Harbour" style="display:block;${style}">`
  const html = image('') + image('width:400px;height:160px') + image('width:380px;height:auto')
  await read(page, htmlMail(html, { subject: 'Blocked' }), 'Blocked')
  const images = page.frameLocator('.mail-frame').locator('img')
  await images.nth(2).waitFor()
  const pictures: string[] = []
  const sizes: (number | undefined)[][] = []
  for (let at = 0; at < 3; at += 1) {
    const box = await images.nth(at).boundingBox()
    sizes.push([box?.width, box?.height])
    // The first letters.
    const clip = { x: (box?.x ?? 0) + 4, y: (box?.y ?? 0) + 4, width: 60, height: 24 }
    pictures.push((await page.screenshot({ clip })).toString('base64'))
  }
  expect(sizes).toStrictEqual([
    [200, 40],
    [400, 160],
    [380, 76],
  ])
  expect(new Set(pictures).size).toBe(1)
})

/** Run in the page: what is printed, instead of a dialog. */
const RECORD_PRINT = `
  printed = []
  document.addEventListener('load', ({ target }) => {
    const { contentWindow, contentDocument } = target
    if (!contentDocument) return
    contentWindow.print = () => printed.push([contentDocument.body.innerText, target.getAttribute('sandbox')])
  }, true)
`

test('the whole message alone is printed, HTML or text, by our button, by the keys, and by the menu of the browser', async () => {
  const page = await openInbox()
  await page.evaluate(RECORD_PRINT)
  for (const [subject, raw, body] of [
    [
      'News',
      htmlMail('<p>All is well.</p><script>bad()</script>', { subject: 'News' }),
      'All is well.',
    ],
    ['Note', textMail('All is <b>well</b>.', { subject: 'Note' }), 'All is <b>well</b>.'],
  ] as const) {
    await read(page, raw, subject)
    if (subject === 'News') await page.frameLocator('.mail-frame').getByText('well').waitFor()
    await page.getByRole('button', { name: 'Print' }).click()
    const count = () => page.evaluate('printed.length')
    await waitUntil(async () => (await count()) === 1)
    await page.keyboard.press('Control+p')
    await waitUntil(async () => (await count()) === 2)
    for (const [text, sandbox] of (await page.evaluate('printed.splice(0)')) as string[][]) {
      const lines = text?.split('\n').filter((line) => line !== '') ?? []
      expect([...lines.slice(0, 3), ...lines.slice(4)]).toStrictEqual([
        subject,
        'From: Acme <hello@acme.test>',
        'To: You <you@box.test>',
        body,
      ])
      expect(sandbox, 'no scripts').toBe('allow-same-origin allow-modals')
    }
  }

  // The browser's own printing, as by its menu or by keys pressed inside the mail.
  const lines = Array.from({ length: 200 }, (_, at) => `<p>Line ${at + 1}</p>`).join('')
  await read(page, htmlMail(lines, { subject: 'Long' }), 'Long')
  await page.locator('.print-copy.ready').waitFor({ state: 'attached' })
  const pages = (await page.pdf()).toString('latin1').match(/\/Type\s*\/Page\b/g)?.length ?? 0
  expect(pages, 'more than fits one page').toBeGreaterThanOrEqual(6)

  await read(page, textMail('All is well.', { subject: 'Last' }), 'Last')
  await page.emulateMedia({ media: 'print' })
  for (const part of ['.top', '.address', '.list', '.tabs', '.settings']) {
    expect(await page.locator(part).isVisible(), part).toBe(false)
  }
  expect(await page.locator('.mail-text').isVisible()).toBe(true)
  expect(await page.getByRole('heading', { name: 'Last' }).isVisible()).toBe(true)
  await page.emulateMedia({ media: 'screen' })
})
