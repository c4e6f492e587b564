import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { opener, plainMail, row, waitForInbox } from '../kit/page/inbox.ts'
import { openPages } from '../kit/page/pages.ts'
import { waitUntil } from '../kit/wait-until.ts'

const { app, visit, newTab } = openPages()

test('mail appears without a reload and without polling, newest first, and is unread until it is opened', async () => {
  const page = await visit('/livez')
  const requested: string[] = []
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url())
    // Links are looked for once the message is parsed, sooner or later.
    if (pathname.startsWith('/api/') && !searchParams.has('has_link')) requested.push(pathname)
  })
  await page.goto(app().url)
  const { email } = await waitForInbox(page)
  await page.getByText('Waiting for mail').waitFor()

  await app().mail(email, plainMail({ from: 'Ann <ann@sender.test>', subject: 'First' }))
  await row(page, 'First').getByText('Ann').waitFor()
  // The list, the stream, and the list once more for changes in between.
  await expect
    .poll(() => requested.filter((path) => !/domains/.test(path)))
    .toStrictEqual(['/api/create-session', '/api/check-mail', '/api/events', '/api/check-mail'])
  await page.locator('[role=status]', { hasText: 'New message from Ann: First' }).waitFor()
  await app().mail(email, plainMail({ from: 'bob@sender.test', subject: '' }))
  await row(page, 'bob@sender.test').getByText('(no subject)').waitFor()
  await expect
    .poll(() => page.locator('.mail-from').allTextContents())
    .toStrictEqual(['bob@sender.test', 'Ann'])
  await page.getByText('2 unread').waitFor()
  await expect.poll(() => page.title()).toBe('(2) Inbox – Mayfly')
  const icon = page.locator('link[rel=icon]')
  await expect
    .poll(async () => (await icon.getAttribute('href')) ?? '')
    .toMatch(/^data:image\/svg\+xml,.*%3E2%3C/)

  await opener(page, 'First').click()
  await page.getByText('1 unread').waitFor()
  await expect.poll(() => page.title()).toBe('(1) Inbox – Mayfly')
  await opener(page, 'bob').click()
  await page.getByText('1 unread').waitFor({ state: 'hidden' })
  await expect.poll(() => page.title()).toBe('Mayfly – disposable email, no sign-up')
  await expect.poll(() => icon.getAttribute('href')).toBe('/favicon.svg')

  await page.reload()
  await row(page, 'First').waitFor()
  expect(await page.locator('.mail.unread').count(), 'what was read stays read').toBe(0)
})

test('tabs share one connection: mail appears in all of them, what is deleted in one disappears from the others, and another takes over from the one that has it', async () => {
  const page = await visit('/livez')
  let streams = 0
  page.context().on('request', (request) => {
    if (request.url().endsWith('/api/events')) streams += 1
  })
  await page.goto(app().url)
  const { email } = await waitForInbox(page)
  const tabs = [page]
  for (let count = 0; count < 5; count += 1) tabs.push(await newTab(page, '/'))
  for (const tab of tabs) expect((await waitForInbox(tab)).email).toBe(email)
  await app().mail(email, plainMail({ subject: 'For all' }))
  await app().mail(email, plainMail({ subject: 'To delete' }))
  for (const tab of tabs) await row(tab, 'To delete').waitFor()
  expect(streams).toBe(1)
  const [, second, third, fourth] = tabs as [Page, Page, Page, Page]
  await opener(second, 'For all').click()
  await third.locator('.mail.unread', { hasText: 'For all' }).waitFor({ state: 'detached' })

  await row(second, 'To delete').hover()
  await second.getByRole('button', { name: 'Delete “To delete”' }).click()
  await second.getByRole('button', { name: 'Undo' }).waitFor()
  // The time to undo ends when the page is left.
  await second.goto(`${app().url}/favicon.svg`)
  for (const tab of [page, third]) await row(tab, 'To delete').waitFor({ state: 'detached' })

  await page.goto(`${app().url}/favicon.svg`)
  await waitUntil(() => streams === 2)
  await app().mail(email, plainMail({ subject: 'By another tab' }))
  for (const tab of [third, fourth]) await row(tab, 'By another tab').waitFor()
  expect(streams).toBe(2)
})

test('mail received or deleted between the list and the stream is not missed, and an open message deleted elsewhere is closed', async () => {
  const page = await visit('/')
  const { email, token } = await waitForInbox(page)
  const deleteElsewhere = async () => {
    const id = (await page.locator('.mail-open').getAttribute('id'))?.slice(5) ?? ''
    await fetch(`${app().url}/api/delete-mail`, {
      method: 'POST',
      body: new URLSearchParams({ token, id }),
    })
  }
  await app().mail(email, plainMail({ subject: 'Open here' }))
  await opener(page, 'Open here').click()
  await page.locator('.mail-text').waitFor()
  await deleteElsewhere()
  await page.getByText('Waiting for mail').waitFor()
  await page.getByRole('heading', { name: 'Open here' }).waitFor({ state: 'detached' })

  await app().mail(email, plainMail({ subject: 'Deleted meanwhile' }))
  await row(page, 'Deleted meanwhile').waitFor()
  const held = Promise.withResolvers<void>()
  await page.route('**/api/events', async (route) => {
    await held.promise
    await route.continue()
  })
  await page.reload()
  await row(page, 'Deleted meanwhile').waitFor()
  await deleteElsewhere()
  await app().mail(email, plainMail({ subject: 'Come meanwhile' }))
  held.resolve()
  await row(page, 'Come meanwhile').waitFor()
  await row(page, 'Deleted meanwhile').waitFor({ state: 'detached' })
})

test('without the Web Locks API a hidden tab holds no stream and polls', async () => {
  const page = await visit('/livez')
  await page.addInitScript(`{
    Object.defineProperty(Navigator.prototype, 'locks', { value: undefined })
    let state = 'visible'
    Object.defineProperty(document, 'visibilityState', { get: () => state })
    window.turn = (to) => { state = to; document.dispatchEvent(new Event('visibilitychange')) }
  }`)
  await page.clock.install()
  await page.goto(app().url)
  const { email } = await waitForInbox(page)
  const over = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/events'))
  await page.evaluate(`turn('hidden')`)
  await over
  await page.getByText('Checking every').waitFor()
  await app().mail(email, plainMail({ subject: 'Found by a look' }))
  await page.clock.runFor(6_000)
  await row(page, 'Found by a look').waitFor()
  await page.getByText('Checking every').waitFor()
  await page.evaluate(`turn('visible')`)
  await waitForInbox(page)
})

test('the reader is loaded before there is mail, so that mail can be read when its files are gone', async () => {
  const page = await visit('/livez')
  const loaded = page.waitForResponse(/\/assets\/reader-[^/]*\.js$/)
  await page.goto(app().url)
  const { email } = await waitForInbox(page)
  await (await loaded).finished()
  await page.route('**/assets/reader-*', (route) => route.abort())
  await app().mail(email, plainMail({ subject: 'Still readable', text: 'With the old files.' }))
  await opener(page, 'Still readable').click()
  await page.locator('.mail-text', { hasText: 'With the old files.' }).waitFor()
})
