import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { mailboxOf, opener, plainMail, row, waitForInbox } from './support/inbox.ts'
import { openPages } from './support/pages.ts'

const { app, visit, newTab } = openPages()

test('mail appears without a reload, newest first, and is unread until it is opened', async () => {
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  await page.getByText('Waiting for mail').waitFor()

  await app().mail(email, plainMail({ from: 'Ann <ann@sender.test>', subject: 'First' }))
  await row(page, 'First').getByText('Ann').waitFor()
  await page.locator('[role=status]', { hasText: 'New message from Ann: First' }).waitFor()
  await app().mail(email, plainMail({ from: 'bob@sender.test', subject: '' }))
  await row(page, 'bob@sender.test').getByText('(no subject)').waitFor()
  assert.deepEqual(await page.locator('.mail-from').allTextContents(), ['bob@sender.test', 'Ann'])
  await page.getByText('2 unread').waitFor()
  assert.equal(await page.title(), '(2) Inbox – Mayfly')
  const icon = page.locator('link[rel=icon]')
  assert.match((await icon.getAttribute('href')) ?? '', /^data:image\/svg\+xml,.*%3E2%3C/)

  await opener(page, 'First').click()
  await page.getByText('1 unread').waitFor()
  assert.equal(await page.title(), '(1) Inbox – Mayfly')
  await opener(page, 'bob').click()
  await page.getByText('1 unread').waitFor({ state: 'hidden' })
  assert.equal(await page.title(), 'Inbox – Mayfly')
  assert.equal(await icon.getAttribute('href'), '/favicon.svg')

  await page.reload()
  await row(page, 'First').waitFor()
  assert.equal(await page.locator('.mail.unread').count(), 0, 'what was read stays read')
})

test('a code is shown in the list with a copy button', async () => {
  const page = await visit('/', { permissions: ['clipboard-read', 'clipboard-write'] })
  const { email } = await waitForInbox(page)
  await app().mail(email, plainMail({ subject: 'Sign in', text: 'Your code is 482915.' }))
  await page.getByRole('button', { name: 'Copy code 482915' }).click()
  await page.locator('.toast', { hasText: 'Code 482915 copied' }).waitFor()
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), '482915')
})

describe('two tabs', () => {
  test('show the same mail, and a message deleted in one disappears from the other', async () => {
    const page = await visit('/')
    const { email } = await waitForInbox(page)
    const other = await newTab(page, '/')
    assert.equal((await waitForInbox(other)).email, email)
    await app().mail(email, plainMail({ subject: 'For both' }))
    await app().mail(email, plainMail({ subject: 'To delete' }))
    for (const tab of [page, other]) await row(tab, 'To delete').waitFor()

    await opener(page, 'For both').click()
    await other.locator('.mail.unread', { hasText: 'For both' }).waitFor({ state: 'detached' })
    await other.clock.install()
    await row(other, 'To delete').hover()
    await other.getByRole('button', { name: 'Delete “To delete”' }).click()
    await other.getByRole('button', { name: 'Undo' }).waitFor()
    await other.clock.runFor(10_000)
    await row(page, 'To delete').waitFor({ state: 'detached' })
    await row(page, 'For both').waitFor()
  })

  test('a message deleted elsewhere is closed', async () => {
    const page = await visit('/')
    const { email, token } = await waitForInbox(page)
    await app().mail(email, plainMail({ subject: 'Open here' }))
    await opener(page, 'Open here').click()
    await page.getByRole('heading', { name: 'Open here' }).waitFor()
    const id = (await row(page, 'Open here').locator('.mail-open').getAttribute('id'))?.slice(5)
    await fetch(`${app().url}/api/delete-mail`, {
      method: 'POST',
      body: new URLSearchParams({ token, id: id ?? '' }),
    })
    await page.getByText('Waiting for mail').waitFor()
    await page.getByRole('heading', { name: 'Open here' }).waitFor({ state: 'detached' })
  })
})

test('only four of many tabs hold a connection; the others poll', async () => {
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  for (let tab = 2; tab <= 4; tab += 1) await waitForInbox(await newTab(page, '/'))
  const fifth = await newTab(page, '/')
  await fifth.getByText('Checking every 15 seconds').waitFor()
  await app().mail(email, plainMail({ subject: 'For all' }))
  await row(page, 'For all').waitFor()
  await page.close()
  await fifth.getByRole('button', { name: 'Check now' }).click()
  await row(fifth, 'For all').waitFor()
  await waitForInbox(fifth)
})

test('another address has its own list, and the list of the first one is unchanged', async () => {
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  await app().mail(email, plainMail({ subject: 'For the first' }))
  await opener(page, 'For the first').click()
  await page.keyboard.press('n')
  await page.getByText('Waiting for mail').waitFor()
  await row(page, 'For the first').waitFor({ state: 'detached' })
  await app().mail(email, plainMail({ subject: 'Late for the first' }))
  const { email: second } = await mailboxOf(page)
  assert.notEqual(second, email)
  await app().mail(second, plainMail({ subject: 'For the second' }))
  await row(page, 'For the second').waitFor()
  assert.equal(await page.locator('.mail').count(), 1)
})

describe('the number of requests', () => {
  test('an open page requests the list, the stream, and the list once more for changes in between', async () => {
    const page = await visit('/livez')
    const requested: string[] = []
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (pathname.startsWith('/api/')) requested.push(pathname)
    })
    await page.goto(app().url)
    const { email } = await waitForInbox(page)
    await app().mail(email, plainMail({ subject: 'One' }))
    await row(page, 'One').waitFor()
    assert.deepEqual(
      requested.filter((path) => !/domains/.test(path)),
      ['/api/create-session', '/api/check-mail', '/api/events', '/api/check-mail'],
    )
  })

  test('mail received or deleted between the list and the stream is not missed', async () => {
    const page = await visit('/')
    const { email, token } = await waitForInbox(page)
    await app().mail(email, plainMail({ subject: 'Deleted meanwhile' }))
    await row(page, 'Deleted meanwhile').waitFor()
    const id = (await page.locator('.mail-open').getAttribute('id'))?.slice(5) ?? ''

    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/api/events', async (route) => {
      await held
      await route.continue()
    })
    await page.reload()
    await row(page, 'Deleted meanwhile').waitFor()
    await fetch(`${app().url}/api/delete-mail`, {
      method: 'POST',
      body: new URLSearchParams({ token, id }),
    })
    await app().mail(email, plainMail({ subject: 'Come meanwhile' }))
    release()
    await row(page, 'Come meanwhile').waitFor()
    await row(page, 'Deleted meanwhile').waitFor({ state: 'detached' })
  })
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
  await page.clock.runFor(16_000)
  await row(page, 'Found by a look').waitFor()
  await page.getByText('Checking every').waitFor()
  await page.evaluate(`turn('visible')`)
  await waitForInbox(page)
})
