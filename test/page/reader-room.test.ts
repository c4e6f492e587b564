import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { describe, test, vi } from 'vitest'
import { opener, waitForInbox } from './support/inbox.ts'
import { htmlMail, newsletterMail, textMail } from './support/mails.ts'
import { checkAccessibility, openPages } from './support/pages.ts'

const { app, visit } = openPages()

async function read(page: Page, raw: string, subject: string): Promise<void> {
  const { email } = await waitForInbox(page)
  assert.equal(await app().mail(email, raw), 250)
  await opener(page, subject).click()
  await page.locator('.tab-view').waitFor()
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
  test('has at least 400 px on a laptop, 330 px on a small one, and only its frame scrolls', async () => {
    const page = await visit('/', { viewport: { width: 1366, height: 768 } })
    await readNewsletter(page)
    for (const [width, height, least] of [
      [1366, 768, 400],
      [1024, 700, 330],
    ] as const) {
      await page.setViewportSize({ width, height })
      const { visible, scrollers } = await measure(page)
      assert.ok(visible >= least, `${visible} px at ${width} × ${height}`)
      assert.equal(scrollers, 1)
    }
    // Blocked images keep their boxes; one that declares only its width keeps that.
    const boxes = await page
      .frameLocator('.mail-frame')
      .locator('img')
      .evaluateAll((images) =>
        images.map(({ clientWidth, clientHeight }) => [clientWidth, clientHeight]),
      )
    assert.deepEqual(boxes.slice(0, 2), [
      [556, 224],
      [492, 48],
    ])
    // A long text scrolls in the same place, and nothing else does.
    await page.getByRole('tab', { name: 'Text', exact: true }).click()
    const scrolling =
      await page.evaluate(`[...document.querySelectorAll('.reader-pane, .reader-pane *')]
      .filter((one) => one.scrollHeight > one.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(one).overflowY))
      .map((one) => one.className)`)
    assert.deepEqual(scrolling, ['tab-view'])
  })

  test('has everything below a one-line head on a phone, upright or not', async () => {
    const page = await visit('/', { viewport: { width: 360, height: 740 }, hasTouch: true })
    await readNewsletter(page)
    for (const [width, height] of [
      [360, 740],
      [844, 390],
    ] as const) {
      await page.setViewportSize({ width, height })
      const { visible, top, scrollers, isPageLonger } = await measure(page)
      assert.ok(top <= 56, `the mail starts at ${top} px`)
      assert.equal(visible, height - top)
      assert.deepEqual([scrollers, isPageLonger], [1, false])
    }
  })

  test('with a claimed name, codes and an image has one scroller on a phone on its side, too', async () => {
    const page = await visit('/', { viewport: { width: 844, height: 390 }, hasTouch: true })
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
    const box = await frame.locator('img').boundingBox()
    assert.deepEqual([box?.width, box?.height], [24, 24], 'an icon is square')
    assert.equal((await measure(page)).scrollers, 1)
  })

  test('on a phone has its details, views and actions behind two buttons', async () => {
    const page = await visit('/', { viewport: { width: 360, height: 740 }, hasTouch: true })
    await readNewsletter(page)
    await page.getByRole('button', { name: 'Details' }).tap()
    await page.getByText('The Weekly <news@weekly.test>').waitFor()
    await checkAccessibility(page)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'More' }).tap()
    await checkAccessibility(page)
    await page.getByRole('button', { name: 'Text', exact: true }).tap()
    await page.locator('.mail-text').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Print' }).isVisible(), false)
  })

  test('fills the window on request, until Escape', async () => {
    const page = await visit('/', { viewport: { width: 1366, height: 768 } })
    await readNewsletter(page)
    await page.getByRole('button', { name: 'Full window', exact: true }).click()
    const leave = page.getByRole('button', { name: 'Exit full window' })
    await leave.waitFor()
    const { visible, isPageLonger } = await measure(page)
    assert.ok(visible > 600, `${visible} px`)
    assert.equal(isPageLonger, false)
    for (const part of ['.list', '.address', '.top']) {
      assert.equal(await page.locator(part).isVisible(), false, part)
    }
    await page.keyboard.press('Escape')
    await leave.waitFor({ state: 'detached' })
    await page.locator('.list').waitFor()
    await page.getByRole('heading', { name: 'Trains' }).waitFor()
  })

  test('can be seen as on a phone', async () => {
    const page = await visit('/', { viewport: { width: 1366, height: 768 } })
    await readNewsletter(page)
    const width = async () => (await page.locator('.mail-frame').boundingBox())?.width
    const before = await width()
    const toggle = page.getByRole('button', { name: 'Phone width' })
    await toggle.click()
    assert.equal(await width(), 375)
    assert.equal(await toggle.getAttribute('aria-pressed'), 'true')
    await toggle.click()
    assert.equal(await width(), before)
  })
})

describe('printed', () => {
  /** Run in the page: what is printed, instead of a dialog. */
  const RECORD_PRINT = `
    printed = []
    document.addEventListener('load', ({ target }) => {
      const { contentWindow, contentDocument } = target
      if (!contentDocument) return
      contentWindow.print = () => printed.push([contentDocument.body.innerText, target.getAttribute('sandbox')])
    }, true)
  `
  for (const [kind, raw] of [
    ['HTML', htmlMail('<p>All is well.</p><script>bad()</script>', { subject: 'News' })],
    ['text', textMail('All is <b>well</b>.', { subject: 'News' })],
  ] as const) {
    test(`is the message alone: ${kind}`, async () => {
      const page = await visit('/')
      await page.evaluate(RECORD_PRINT)
      await read(page, raw, 'News')
      if (kind === 'HTML') await page.frameLocator('.mail-frame').getByText('well').waitFor()
      await page.getByRole('button', { name: 'Print' }).click()
      const count = () => page.evaluate('printed.length')
      await vi.waitUntil(async () => (await count()) === 1, 30_000)
      await page.keyboard.press('Control+p')
      await vi.waitUntil(async () => (await count()) === 2, 30_000)
      const [[text, sandbox]] = (await page.evaluate('printed')) as [[string, string]]
      const lines = text.split('\n').filter((line) => line !== '')
      assert.deepEqual(
        [...lines.slice(0, 3), ...lines.slice(4)],
        [
          'News',
          'From: Acme <hello@acme.test>',
          'To: You <you@box.test>',
          kind === 'HTML' ? 'All is well.' : 'All is <b>well</b>.',
        ],
      )
      assert.equal(sandbox, 'allow-same-origin allow-modals', 'no scripts')
    })
  }

  test('by the menu of the browser is without the list and the buttons', async () => {
    const page = await visit('/')
    await read(page, textMail('All is well.', { subject: 'News' }), 'News')
    await page.emulateMedia({ media: 'print' })
    for (const part of ['.top', '.address', '.list', '.tabs', '.settings']) {
      assert.equal(await page.locator(part).isVisible(), false, part)
    }
    assert.equal(await page.locator('.mail-text').isVisible(), true)
    assert.equal(await page.getByRole('heading', { name: 'News' }).isVisible(), true)
    await page.emulateMedia({ media: 'screen' })
  })
})
