import { describe, expect, test } from 'vitest'
import {
  mailboxOf,
  opener,
  plainMail,
  row,
  storeMailboxes,
  waitForInbox,
} from '../kit/page/inbox.ts'
import { OWN_SERVER, openPages } from '../kit/page/pages.ts'
import { waitUntil } from '../kit/wait-until.ts'

const { app, visit, allow } = openPages(OWN_SERVER)

describe('without a live stream', () => {
  test('the page polls at intervals, shows that, and retries the stream after a while', async () => {
    allow({ complaint: /api\/events/ })
    const page = await visit('/livez')
    await page.clock.install()
    let tries = 0
    await page.route('**/api/events', (route) => {
      tries += 1
      return route.abort()
    })
    await page.goto(app().url)
    await page.getByText('Checking every 5 seconds').waitFor()
    const { email } = await mailboxOf(page)
    await app().mail(email, plainMail({ subject: 'By looking' }))
    await page.clock.fastForward(5_000)
    await row(page, 'By looking').waitFor()
    await app().mail(email, plainMail({ subject: 'By hand' }))
    await page.getByRole('button', { name: 'Check now' }).click()
    await row(page, 'By hand').waitFor()
    expect(tries).toBe(2)

    // Once, then it polls again. The first poll decides when to retry next, and the second follows it.
    // The response to a poll from before the third try may arrive after it, and does not count.
    let polls = 0
    page.on('request', (request) => {
      if (tries !== 3 || !request.url().includes('/api/check-mail')) return
      void request.response().then(() => (polls += 1))
    })
    await page.clock.fastForward(5 * 60_000)
    await waitUntil(() => polls >= 1)
    await page.clock.fastForward(5_000)
    await waitUntil(() => polls >= 2)
    await page.getByText('Checking every 5 seconds').waitFor()
    expect(tries).toBe(3)
    await page.unroute('**/api/events')
    await page.clock.fastForward(5 * 60_000)
    await waitForInbox(page)
  })

  test('mail of an address that is not shown appears within a minute', async () => {
    allow({ complaint: /api\/events/ })
    const page = await visit('/favicon.svg')
    const [shown, other] = [await app().session(), await app().session()]
    await storeMailboxes(page, [shown, other])
    await page.clock.install()
    await page.route('**/api/events', (route) => route.abort())
    const listed = page.waitForResponse(
      (response) => response.request().headers()['authorization'] === `Bearer ${other.token}`,
    )
    await page.goto(app().url)
    await page.getByText('Checking every 5 seconds').waitFor()
    await (await listed).finished()
    await app().mail(other.email, plainMail({ subject: 'Elsewhere' }))
    await page.clock.fastForward(60_000)
    await page.locator('.toast', { hasText: `New message at ${other.email}` }).waitFor()
  })

  test('a stream that opens and sends nothing is abandoned', async () => {
    const page = await visit('/livez')
    await page.clock.install()
    let tries = 0
    await page.route('**/api/events', () => {
      tries += 1
    })
    await page.goto(app().url)
    for (const count of [1, 2]) {
      await waitUntil(() => tries === count)
      await page.clock.fastForward(10_000)
    }
    await page.getByText('Checking every 5 seconds').waitFor()
  })
})

test('the page reconnects to a stopping server after its retry time, without an error', async () => {
  const page = await visit('/livez')
  const shutdownEvents = 'retry: 2000\nid: 0\n\n: shutting_down\nretry: 10\n\n'
  let tries = 0
  await page.route('**/api/events', async (route) => {
    tries += 1
    const response = { contentType: 'text/event-stream', body: shutdownEvents }
    await (tries <= 3 ? route.fulfill(response) : route.continue())
  })
  await page.goto(app().url)
  await waitUntil(() => tries === 4)
  const { email } = await waitForInbox(page)
  await app().mail(email, plainMail({ subject: 'By the fourth' }))
  await row(page, 'By the fourth').waitFor()
  expect(tries).toBe(4)
})

test('the page shows that it is offline, and then the mail received meanwhile', async () => {
  allow({ complaint: /ERR_INTERNET_DISCONNECTED/ })
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  await page.context().setOffline(true)
  await page.getByText('You are offline.').waitFor()
  await app().mail(email, plainMail({ subject: 'Meanwhile' }))
  await page.context().setOffline(false)
  await row(page, 'Meanwhile').waitFor()
  await waitForInbox(page)
})

test('errors disappear once the server responds, and the open message is loaded then', async () => {
  allow({ complaint: /ERR_INTERNET_DISCONNECTED/ })
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  await app().mail(email, plainMail({ subject: 'Later', text: 'Here at last.' }))
  await row(page, 'Later').waitFor()
  await page.context().setOffline(true)
  await opener(page, 'Later').click()
  await page.getByRole('article').getByText('Could not reach the server').waitFor()
  await page.getByRole('button', { name: 'New address' }).click()
  const failure = page.locator('.address').getByRole('alert')
  await failure.getByText('You are offline.').waitFor()
  await failure.getByRole('button', { name: 'Dismiss' }).click()
  await failure.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'New address' }).click()
  await failure.waitFor()
  await page.context().setOffline(false)
  await page.locator('.mail-text', { hasText: 'Here at last.' }).waitFor()
  await failure.waitFor({ state: 'detached' })
})

// One that was deleted: address-end.test.ts.
test('a session that has expired empties the page, with a notice', async () => {
  allow({ complaint: /401/ })
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  await app().mail(email, plainMail({ subject: 'Soon gone' }))
  await opener(page, 'Soon gone').click()
  app().moveClock(25 * 3_600)
  // The server checks expiry on activity and at intervals.
  await page.getByRole('heading', { name: 'This address has expired' }).waitFor()
  await page.getByText('This address has expired. Its mail was deleted.').waitFor()
  await expect.poll(() => row(page, 'Soon gone').count()).toBe(0)
  await expect.poll(() => page.title()).toBe('Mayfly – disposable email, no sign-up')
})

test('the rate limit is shown with the time to wait, and then the page continues', async () => {
  allow({ complaint: /429/ })
  const page = await visit('/livez')
  await page.clock.install()
  await page.route('**/api/check-mail*', (route) =>
    route.fulfill({
      status: 429,
      headers: { 'retry-after': '90' },
      json: { status: 'error', code: 'rate_limited', message: 'Too many.', request_id: '1' },
    }),
  )
  await page.goto(app().url)
  await page.getByText('Too many requests from your network.').waitFor()
  await page.getByText(/Retrying in 1 minute,? \d+ seconds/).waitFor()
  await page.unroute('**/api/check-mail*')
  await page.clock.fastForward(60_000)
  await page.getByText(/Retrying in \d+ seconds/).waitFor()
  await page.clock.fastForward(40_000)
  await waitForInbox(page)
})
