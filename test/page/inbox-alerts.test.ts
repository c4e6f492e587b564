import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { plainMail, row, waitForInbox } from '../kit/page/inbox.ts'
import { openPages } from '../kit/page/pages.ts'

const { app, visit } = openPages()

/** Records the calls of the page to the Notification API, which does not work in this browser. */
const RECORD_CALLS = `{
  window.seen = { asked: 0, notes: [], tones: 0 }
  window.badges = []
  Object.defineProperty(navigator, 'setAppBadge', { value: async (count) => { window.badges.push(count) } })
  let permission = 'default'
  window.Notification = class extends EventTarget {
    static get permission() { return permission }
    static async requestPermission() { window.seen.asked += 1; permission = window.answer ?? 'granted'; return permission }
    constructor(title, options) { super(); window.seen.notes.push([title, options.body]) }
    close() { window.seen.notes.pop() }
  }
  const start = OscillatorNode.prototype.start
  OscillatorNode.prototype.start = function (...when) { window.seen.tones += 1; start.apply(this, when) }
}`

/** As Chrome does on Android. */
const FORBID_NOTIFICATIONS = `{
  const { requestPermission } = Notification
  window.Notification = Object.assign(function () { throw new TypeError('Illegal constructor') }, { permission: 'granted', requestPermission })
}`

interface Seen {
  asked: number
  notes: string[][]
  tones: number
}
const seen = (page: Page) => page.evaluate('window.seen') as Promise<Seen>

async function openWatched(): Promise<{ page: Page; email: string }> {
  const page = await visit('/livez')
  await page.addInitScript(RECORD_CALLS)
  await page.goto(app().url)
  const { email } = await waitForInbox(page)
  await page.getByText('Settings').click()
  return { page, email }
}

/** Run in the page. */
const HIDE = `
  Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
`

test('permission is requested only when notifications are enabled; then mail is announced in a hidden tab, by a sound if that is on, and counted on the icon of the app', async () => {
  const { page, email } = await openWatched()
  await app().mail(email, plainMail({ subject: 'Silent' }))
  await row(page, 'Silent').waitFor()
  expect(await seen(page)).toStrictEqual({ asked: 0, notes: [], tones: 0 })

  await page.getByRole('checkbox', { name: 'Notify me of new mail' }).check()
  await expect.poll(async () => (await seen(page)).asked).toBe(1)
  await app().mail(email, plainMail({ subject: 'In sight' }))
  await row(page, 'In sight').waitFor()
  expect((await seen(page)).notes).toStrictEqual([])
  await row(page, 'Silent').locator('.mail-open').click()
  await page.getByText('1 unread').waitFor()
  await expect.poll(() => page.evaluate('window.badges')).toStrictEqual([0, 1, 2, 1])

  await page.evaluate(HIDE)
  await app().mail(email, plainMail({ subject: 'Your secret', from: 'Ann <ann@sender.test>' }))
  await row(page, 'Your secret').waitFor()
  await expect
    .poll(() => seen(page), { message: 'the subject is not told' })
    .toStrictEqual({ asked: 1, notes: [['New message', 'Ann']], tones: 0 })

  await page.evaluate('delete document.visibilityState')
  await page.getByRole('checkbox', { name: 'Play a sound for new mail' }).check()
  await expect.poll(async () => (await seen(page)).tones).toBeGreaterThan(0)
  const { tones } = await seen(page)
  await app().mail(email, plainMail({ subject: 'Loud' }))
  await row(page, 'Loud').waitFor()
  await expect.poll(async () => (await seen(page)).tones).toBe(2 * tones)
  await page.reload()
  await row(page, 'Loud').waitFor()
  await page.getByText('Settings').click()
  await expect.poll(() => page.getByRole('checkbox', { name: 'A sound' }).isChecked()).toBe(true)
  expect((await seen(page)).tones, 'what was there before is not told again').toBe(0)
})

async function waitForTitle(page: Page, title: RegExp): Promise<void> {
  await expect.poll(() => page.title()).toMatch(title)
}

test('a new code is shown large, in the title and in the notification, until it is copied or read; it moves neither the focus nor an open message', async () => {
  const { page, email } = await openWatched()
  await page.getByRole('checkbox', { name: 'Notify me of new mail' }).check()
  await page.evaluate(HIDE)
  await page.getByRole('checkbox', { name: 'Notify me of new mail' }).focus()
  const from = 'GitHub <noreply@github.test>'
  const text = 'Your verification code is 481516.'
  await app().mail(email, plainMail({ subject: 'Sign in', from, text }))
  const card = page.getByRole('region', { name: 'Your code' })
  await card.getByText('481516').waitFor()
  await waitForTitle(page, /^481516 · GitHub$/)
  await expect
    .poll(async () => (await seen(page)).notes.at(-1))
    .toStrictEqual(['Code 481516', 'GitHub'])
  await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('checkbox')
  await card.getByRole('button', { name: 'Copy' }).click()
  await waitForTitle(page, /^\(1\) /)

  await app().mail(email, plainMail({ subject: 'Again', text: 'Your code is 731204.' }))
  await waitForTitle(page, /^731204 · Ann$/)
  await card.getByText('731204').waitFor()
  await card.getByRole('button', { name: 'Open message' }).click()
  await page.getByRole('heading', { name: 'Again' }).waitFor()
  await waitForTitle(page, /^\(1\) /)
  await app().mail(email, plainMail({ subject: 'Third', text: 'Your code is 902817.' }))
  await waitForTitle(page, /^902817 · Ann$/)
  await page.getByRole('heading', { name: 'Again' }).waitFor()
  await expect.poll(() => card.locator('.code-big').innerText()).toBe('731204')
})

test('if the browser denies permission, or shows no notifications from a page, the switch is off and says so', async () => {
  const { page, email } = await openWatched()
  await page.evaluate(`window.answer = 'denied'`)
  const notes = page.getByRole('checkbox', { name: 'Notify me of new mail' })
  await notes.click()
  await page.getByText('Notifications are blocked').waitFor()
  await expect.poll(() => notes.isChecked()).toBe(false)

  // The permission is back to its default.
  await page.reload()
  await waitForInbox(page)
  await page.getByText('Settings').click()
  await notes.check()
  await page.evaluate(FORBID_NOTIFICATIONS)
  await page.evaluate(HIDE)
  await app().mail(email, plainMail({ subject: 'Unseen' }))
  const hint = page.getByText('This browser does not show notifications from a page')
  await hint.waitFor()
  await expect.poll(() => notes.isChecked()).toBe(false)
  // The next time it is found out at once.
  await page.reload()
  await page.getByText('Settings').click()
  await page.evaluate(FORBID_NOTIFICATIONS)
  await notes.click()
  await hint.waitFor()
  await expect.poll(() => notes.isChecked()).toBe(false)
})
