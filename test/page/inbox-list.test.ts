import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import {
  mailMany,
  opener,
  plainMail,
  row,
  storeMailboxes,
  waitForInbox,
} from '../kit/page/inbox.ts'
import { welcomeMail } from '../kit/page/mails.ts'
import { openPages } from '../kit/page/pages.ts'
import { waitUntil } from '../kit/wait-until.ts'

const { app, visit } = openPages()
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }

test('a row shows the beginning of the text and attachments; a search covers senders, subjects, codes and whole texts', async () => {
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  const text = `Hello,\r\n\r\nthis is   how it begins. ${'Soup. '.repeat(50)}And a lemon tart.`
  await app().mail(email, plainMail({ from: 'Café <a@cafe.test>', subject: 'Menu', text }))
  await app().mail(email, plainMail({ subject: 'Sign in', text: 'Your code is 482915.' }))
  await app().mail(email, welcomeMail())
  await row(page, 'Menu').getByText('Hello, this is how it begins.').waitFor()
  expect(await row(page, 'Menu').locator('.mail-files').count()).toBe(0)
  await row(page, 'Acme').locator('.mail-files').getByText('attachments').waitFor()
  const heights = await page
    .locator('.mail')
    .evaluateAll((rows) => rows.map(({ clientHeight }) => clientHeight))
  expect(new Set(heights).size, 'a preview that comes late moves nothing').toBe(1)

  await row(page, '482915').waitFor()
  const welcome = 'Confirm your address at Acme'
  for (const [words, found] of [
    ['cafe', ['Menu']],
    ['SIGN', ['Sign in']],
    ['2915', ['Sign in']],
    ['sender.test', ['Sign in']],
    ['Lemon TART', ['Menu']],
    ['valid for ten', [welcome]],
    ['', [welcome, 'Sign in', 'Menu']],
  ] as const) {
    await page.getByRole('searchbox').fill(words)
    const subjects = page.locator('.mail-subject')
    await expect.poll(() => subjects.allTextContents(), { message: words }).toStrictEqual(found)
  }

  await page.getByRole('searchbox').fill('CAFE menu')
  await expect.poll(() => page.locator('mark').allTextContents()).toStrictEqual(['Café', 'Menu'])
  const [field, count] = await Promise.all(
    ['#search', '.search-count'].map((one) => page.locator(one).boundingBox()),
  )
  const end = (field?.y ?? 0) + (field?.height ?? 0)
  expect(count?.y, 'the count covers the words').toBeGreaterThanOrEqual(end)
  await page.getByRole('searchbox').fill('')
  // Filters, alone and together.
  await opener(page, 'Menu').click()
  await page.getByText('2 unread').waitFor()
  const chip = (name: string) => page.getByRole('group', { name: 'Filter' }).getByText(name)
  const shown = (expected: readonly string[]) =>
    expect.poll(() => page.locator('.mail-subject').allTextContents()).toStrictEqual(expected)
  await chip('Unread').click()
  await shown([welcome, 'Sign in'])
  await opener(page, 'Sign in').click()
  await page.getByText('1 unread').waitFor()
  await shown([welcome, 'Sign in'])
  await chip('Attachments').click()
  await shown([welcome])
  await chip('Unread').click()
  await chip('Attachments').click()
  await chip('Links').click()
  await shown([welcome])
  await chip('Links').click()
  await chip('Codes').click()
  await shown([welcome, 'Sign in'])
})

test('a message with a link to follow and no code has a chip for it, and is shown large like a code; not if its sender may be forged, which is found out once', async () => {
  const page = await visit('/')
  const read: (string | null)[] = []
  page.on('requestfinished', (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname === '/api/read-mail') read.push(searchParams.get('id'))
  })
  const { email } = await waitForInbox(page)
  const text = 'Confirm your email address: https://login.acme.test/verify?t=1'
  await app().mail(email, plainMail({ subject: 'Welcome', text }))
  const link = row(page, 'Welcome').getByRole('link', { name: /^Confirm: / })
  await link.waitFor()
  const target = encodeURIComponent('https://login.acme.test/verify?t=1')
  await expect.poll(() => link.getAttribute('href')).toBe(`/leave#${target}`)
  const card = page.getByRole('region', { name: 'Confirmation link' })
  await card.getByText('login.acme.test').waitFor()
  const open = card.getByRole('link', { name: 'Open' })
  await expect.poll(() => open.getAttribute('href')).toBe('https://login.acme.test/verify?t=1')
  const from = '"service@bank.test" <x@evil.test>'
  const forged = 'Confirm your email address: https://evil.test/verify?t=1'
  await app().mail(email, plainMail({ subject: 'Forged', from, text: forged }))
  await app().mail(email, plainMail({ subject: 'Reset', text: text.replace('verify', 'confirm') }))
  await row(page, 'Reset').getByRole('link').waitFor()
  const id = (await opener(page, 'Forged').getAttribute('id'))?.slice('mail-'.length) ?? ''
  await waitUntil(() => read.includes(id))
  for (const subject of ['Third', 'Fourth']) {
    await app().mail(email, plainMail({ subject, text }))
    await row(page, subject).getByRole('link').waitFor()
  }
  expect(await row(page, 'Forged').getByRole('link').count()).toBe(0)
  expect(read.filter((one) => one === id).length).toBe(1)
})

test('eight messages fit a laptop and six a phone; an Arabic one is aligned with the others', async () => {
  const page = await visit('/', { viewport: { width: 1366, height: 768 } })
  const { email } = await waitForInbox(page)
  for (let sent = 1; sent < 9; sent += 1) {
    const text = `The text of message ${sent} goes on for longer than its line in the list.`
    await app().mail(email, plainMail({ subject: `Number ${sent}`, text }))
  }
  const arabic = (words: string) => `=?utf-8?B?${Buffer.from(words).toString('base64')}?=`
  const mail = plainMail({ from: `${arabic('متجر')} <a@cairo.test>`, subject: arabic('مرحبا بكم') })
  const type = 'Content-Type: text/plain; charset=utf-8'
  await app().mail(
    email,
    mail.replace('\r\n\r\n', `\r\n${type}\r\n\r\nأهلا وسهلا بكم في متجرنا الجديد `),
  )
  await row(page, 'متجرنا').waitFor()
  const visible = `[...document.querySelectorAll('.mail')].filter((one) => {
    const { bottom } = one.getBoundingClientRect()
    return bottom <= Math.min(innerHeight, one.parentElement.getBoundingClientRect().bottom + 1)
  }).length`
  await expect.poll(async () => Number(await page.evaluate(visible))).toBeGreaterThanOrEqual(8)
  const lefts = await page
    .locator('.mail')
    .first()
    .locator(':is(.mail-from, .mail-subject) bdi')
    .evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().left)))
  const others = await page
    .locator('.mail')
    .nth(1)
    .locator('.mail-from bdi')
    .evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().left)))
  expect(new Set([...lefts, ...others]).size, `${lefts}, ${others}`).toBe(1)
  // The beginning of the text follows the subject.
  const [subject, preview] = await Promise.all(
    ['.mail-subject bdi', '.mail-preview bdi'].map((part) =>
      page.locator('.mail').first().locator(part).boundingBox(),
    ),
  )
  const gap = (preview?.x ?? 0) - (subject?.x ?? 0) - (subject?.width ?? 0)
  expect(gap, `${gap} px`).toBeLessThan(16)
  await page.setViewportSize({ width: 390, height: 844 })
  await expect.poll(async () => Number(await page.evaluate(visible))).toBeGreaterThanOrEqual(6)
})

test('in forced colors the current page, the selected tab, the logo and the lines between messages can be seen', async () => {
  const page = await visit('/', { forcedColors: 'active' })
  const { email } = await waitForInbox(page)
  await mailMany(app(), email, 2)
  await app().mail(email, plainMail({ text: 'Your code is 482915.' }))
  await row(page, '482915').waitFor()
  await opener(page, 'Mail 1').click()
  await page.locator('.tabs').waitFor()
  const style = (selector: string, name: string, pseudo = '') =>
    page.evaluate(
      `getComputedStyle(document.querySelector('${selector}'), '${pseudo}').getPropertyValue('${name}')`,
    )
  const canvas = await style('body', 'background-color')
  expect(await style('.tabs [aria-selected=true]', 'background-color')).not.toBe(
    await style('.tabs [aria-selected=false]', 'background-color'),
  )
  expect(await style('.top nav [aria-current]', 'text-decoration-line')).toBe('underline')
  expect(await style('.top nav a:not([aria-current])', 'text-decoration-line')).toBe('none')
  expect(await style('.mark', 'background-color', '::before')).not.toBe(canvas)
  expect(await style('.mail', 'border-bottom-width')).toBe('1px')
  // It is the touch target on a phone, and above the time.
  expect(await style('.mail-code', 'border-top-color')).toBe('rgba(0, 0, 0, 0)')
})

test('the unread messages of other addresses are counted', async () => {
  const page = await visit('/favicon.svg')
  const [here, there] = [await app().session(), await app().session()]
  await mailMany(app(), there.email, 2)
  await storeMailboxes(page, [here, there])
  await page.goto(app().url)
  await page.locator('.switcher summary', { hasText: '2 unread' }).click()
  await page.getByTitle(`Show ${there.email}`).getByText('2 unread').click()
  await opener(page, 'Mail 2').click()
  await page.locator('.mail.unread', { hasText: 'Mail 2' }).waitFor({ state: 'detached' })
  await page.keyboard.press('u')
  await page.getByTitle(`Show ${here.email}`).click()
  await page.locator('.switcher summary', { hasText: '1 unread' }).waitFor()
})

test('on a phone nothing is wider than the screen, touch targets are large enough, a message replaces the list, and Back restores the list as it was', async () => {
  const page = await visit('/', PHONE)
  const { email } = await waitForInbox(page)
  await app().mail(
    email,
    plainMail({
      from: `${'x'.repeat(90)}@sender.test`,
      subject: 'y'.repeat(200),
      text: 'Your code is 482915.',
    }),
  )
  await row(page, '482915').waitFor()
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  const small =
    await page.evaluate(`[...document.querySelectorAll('.messages button, .messages label')]
    .map((one) => ({ text: one.textContent || one.ariaLabel, box: one.getBoundingClientRect() }))
    .filter(({ box }) => box.height > 0 && (box.height < 43.5 || box.width < 43.5))
    .map(({ text, box }) => text + ' ' + box.width + 'x' + box.height)`)
  expect(small).toStrictEqual([])

  await mailMany(app(), email, 30)
  await page.getByText('31 unread').waitFor()
  await opener(page, /Mail 3(?!\d)/).scrollIntoViewIfNeeded()
  const before = Number(await page.evaluate('scrollY'))
  expect(before).not.toBe(0)
  await opener(page, /Mail 3(?!\d)/).tap()
  await page.getByRole('heading', { name: 'Mail 3', exact: true }).waitFor()
  await page.locator('.list').waitFor({ state: 'hidden' })
  await page.locator('.address').waitFor({ state: 'hidden' })
  await page.locator('h2:focus').waitFor()
  await page.waitForFunction('scrollY === 0')

  await page.getByRole('button', { name: 'More' }).tap()
  await page.getByRole('button', { name: 'Newer message' }).tap()
  await page.getByRole('heading', { name: 'Mail 4', exact: true }).waitFor()
  await page.goBack()
  await opener(page, /Mail 4(?!\d)/)
    .and(page.locator(':focus'))
    .waitFor()
  await page.getByRole('heading', { name: 'Mail 4', exact: true }).waitFor({ state: 'detached' })
  await page.waitForFunction(`scrollY === ${before}`)

  await opener(page, /Mail 4(?!\d)/).tap()
  await page.getByRole('button', { name: 'Back to the list' }).tap()
  await opener(page, /Mail 4(?!\d)/).waitFor()
  await page.goForward()
  await page.getByRole('heading', { name: 'Mail 4', exact: true }).waitFor()
  await page.getByRole('button', { name: 'More' }).tap()
  await page.getByRole('button', { name: 'Delete', exact: true }).tap()
  await page.getByRole('button', { name: 'Undo' }).waitFor()
  await opener(page, /Mail 3(?!\d)/).waitFor()
})

test('at 200 % zoom a desktop has one pane with everything in it', async () => {
  const page = await visit('/', { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 })
  const { email } = await waitForInbox(page)
  await mailMany(app(), email, 3)
  await row(page, 'Mail 3').waitFor()
  await opener(page, 'Mail 2').click()
  await page.getByRole('heading', { name: 'Mail 2' }).waitFor()
  await page.locator('.list').waitFor({ state: 'hidden' })
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(640)
  await page.getByRole('button', { name: 'Back to the list' }).click()
  await opener(page, 'Mail 2').waitFor()
})

test('the open message stays open after a reload, without layout shift', async () => {
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  await mailMany(app(), email, 3)
  await row(page, 'Mail 3').waitFor()
  await opener(page, 'Mail 2').click()
  // Once its body is shown it is read: its name in the list is no longer bold.
  await page.getByText('2 unread').waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Mail 2' }).waitFor()
  await waitForInbox(page)
  expect(await shifts(page)).toStrictEqual([])
  await page.keyboard.press('u')
  await page.getByText('Select a message').waitFor()
})

/** The layout shifts since the page was opened. */
async function shifts(page: Page): Promise<unknown> {
  return await page.evaluate(`new Promise((resolve) => {
    const entry = ({ value, sources }) => [value, ...sources.map(({ node }) => node?.className)]
    new PerformanceObserver((list) => resolve(list.getEntries().map(entry)))
      .observe({ type: 'layout-shift', buffered: true })
    requestAnimationFrame(() => requestAnimationFrame(() => resolve([])))
  })`)
}
