import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import {
  mailMany,
  opener,
  openMailbox,
  plainMail,
  reader,
  row,
  subjects,
  waitForInbox,
  waitForSubjects,
} from '../kit/page/inbox.ts'
import { openPages } from '../kit/page/pages.ts'
import { waitUntil } from '../kit/wait-until.ts'

// Behind a proxy, so that rate limits apply to the browser.
const { app, visitWithClock, newTab } = openPages({ MAYFLY_TRUST_PROXY: '127.0.0.1' })
const OUTSIDE = { extraHTTPHeaders: { 'x-forwarded-for': '203.0.113.7' } }
const UNDO_MS = 9_000

/** Run in the page: the largest number of message rows ever shown. */
const WATCH_ROWS = `
  rowsSeen = 0
  new MutationObserver(() => {
    rowsSeen = Math.max(rowsSeen, document.querySelectorAll('.mail').length)
  }).observe(document, { childList: true, subtree: true })
`

/** The unconfirmed deletions that the browser stores. */
const pending = (page: Page) => page.evaluate(`localStorage.getItem('mayfly deleting') ?? ''`)

test('the toast does not cover the last row, which has the focus after the one below it is deleted', async () => {
  const page = await visitWithClock('/', { viewport: { width: 1366, height: 768 } })
  const { email } = await waitForInbox(page)
  await mailMany(app(), email, 15)
  await row(page, 'Mail 15').waitFor()
  await opener(page, /Mail 1(?!\d)/).focus()
  await page.keyboard.press('#')
  const last = row(page, /Mail 2(?!\d)/)
  await last.locator('.mail-open:focus').waitFor()
  const toast = await page.locator('.toast', { hasText: 'Message deleted' }).boundingBox()
  const bottom = async () => {
    const box = await last.boundingBox()
    return box ? box.y + box.height : Number.POSITIVE_INFINITY
  }
  await waitUntil(async () => (await bottom()) <= (toast?.y ?? 0))
})

test('a deleted message disappears at once, can be restored until the time to undo is over or the page is closed, and is then deleted on the server', async () => {
  const page = await visitWithClock('/')
  const { email, token } = await waitForInbox(page)
  await mailMany(app(), email, 3)
  await row(page, 'Mail 3').waitFor()
  await opener(page, 'Mail 1').focus()
  await page.keyboard.press('#')
  await row(page, 'Mail 1').waitFor({ state: 'detached' })
  await page.locator('.toast', { hasText: 'Message deleted' }).waitFor()
  expect(await subjects(app(), token)).toStrictEqual(['Mail 3', 'Mail 2', 'Mail 1'])
  const undo = page.getByRole('button', { name: 'Undo' })
  await undo.click()
  await row(page, 'Mail 1').waitFor()
  await undo.waitFor({ state: 'detached' })
  await expect.poll(() => page.title()).toBe('(3) Inbox – Mayfly')

  // There is time as long as the button has the focus. The pointer would have the same effect.
  await page.mouse.move(0, 0)
  await opener(page, 'Mail 1').focus()
  await page.keyboard.press('#')
  await undo.focus()
  await page.clock.runFor(60_000)
  expect(await subjects(app(), token)).toStrictEqual(['Mail 3', 'Mail 2', 'Mail 1'])
  await page.keyboard.press('Enter')
  await row(page, 'Mail 1').waitFor()
  await page.reload()
  await row(page, 'Mail 1').waitFor()
  await expect.poll(() => pending(page)).toBe('')

  await opener(page, 'Mail 2').click()
  await page.getByRole('heading', { name: 'Mail 2' }).waitFor()
  await reader(page).getByRole('button', { name: 'Delete' }).click()
  // The next older message takes its place.
  await page.getByRole('heading', { name: 'Mail 1' }).waitFor()
  await page.clock.runFor(UNDO_MS)
  await waitForSubjects(app(), token, ['Mail 3', 'Mail 1'])
  await expect.poll(() => undo.count()).toBe(0)

  await page.keyboard.press('#')
  await row(page, 'Mail 1').waitFor({ state: 'detached' })
  await page.goto(`${app().url}/favicon.svg`)
  await waitForSubjects(app(), token, ['Mail 3'])
})

describe('several messages', () => {
  test('are selected with checkboxes, and deleted and restored together, without those that a search hides', async () => {
    const page = await visitWithClock('/')
    const { email, token } = await waitForInbox(page)
    await mailMany(app(), email, 4)
    for (const name of ['Mail 1', 'Mail 3']) {
      await page.getByRole('checkbox', { name: `Select “${name}”` }).check()
    }
    const all = page.getByRole('checkbox', { name: '2 selected' })
    await expect
      .poll(() =>
        all.evaluate((box) => (box as unknown as { indeterminate: boolean }).indeterminate),
      )
      .toBe(true)
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
    await press('Delete')
    await page.locator('.toast', { hasText: '2 messages deleted' }).waitFor()
    await expect.poll(() => page.locator('.mail').count()).toBe(2)
    await press('Undo')
    await row(page, 'Mail 3').waitFor()
    await expect.poll(() => page.getByRole('checkbox', { checked: true }).count()).toBe(0)

    await page.getByRole('checkbox', { name: 'Select “Mail 4”' }).check()
    await page.keyboard.press('#')
    await page.locator('.toast', { hasText: 'Message deleted' }).waitFor()
    await page.clock.runFor(UNDO_MS)
    await waitForSubjects(app(), token, ['Mail 3', 'Mail 2', 'Mail 1'])

    // The selection is only of what is in sight.
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await page.getByRole('searchbox').fill('mail 1')
    await page.getByRole('checkbox', { name: '1 selected' }).waitFor()
    await press('Delete')
    await page.clock.runFor(UNDO_MS)
    await waitForSubjects(app(), token, ['Mail 3', 'Mail 2'])

    for (const subject of ['Lose one', 'Lose two']) await app().mail(email, plainMail({ subject }))
    await page.getByRole('searchbox').fill('lose')
    await press('Delete 2 results')
    await page.locator('.toast', { hasText: '2 messages deleted' }).waitFor()
    await page.getByRole('searchbox').fill('')
    await page.getByRole('button', { name: 'Delete all' }).waitFor()
    await page.clock.runFor(UNDO_MS)
    await waitForSubjects(app(), token, ['Mail 3', 'Mail 2'])
  })

  test('are deleted with one request, all or the selected ones, and what arrives meanwhile stays', async () => {
    const session = await app().session()
    await mailMany(app(), session.email, 30)
    const page = await visitWithClock('/favicon.svg', OUTSIDE)
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.url().endsWith('/api/delete-mail')) sent.push(request.postData() ?? '')
    })
    await openMailbox(page, app(), session)
    for (const [name, count, newer, expected] of [
      ['all', 30, 'Newer', /^all=1&up_to_id=\d+$/],
      ['selected', 31, 'Newest', /^ids=\d+(%2C\d+){30}$/],
    ] as const) {
      await page.getByText(`${count} unread`).waitFor()
      if (name === 'selected') await page.getByRole('checkbox', { name: 'Select all' }).check()
      await page.getByRole('button', { name: /^Delete( all)?$/ }).click()
      await page.getByText('Waiting for mail').waitFor()
      await app().mail(session.email, plainMail({ subject: newer }))
      await row(page, newer).waitFor()
      await page.clock.runFor(UNDO_MS)
      await waitForSubjects(app(), session.token, [newer])
      expect(sent.length, name).toBe(1)
      expect(sent.splice(0).join()).toMatch(expected)
      expect(await page.locator('.mail').count()).toBe(1)
      if (name === 'all') await mailMany(app(), session.email, 30)
    }
  })

  for (const [name, leave] of [
    [
      'a reload',
      async (page: Page) => {
        await page.reload()
        return page
      },
    ],
    [
      'a crash',
      async (page: Page) => {
        // Storage that the browser has not taken over yet is lost with the renderer, which is not ours to prove.
        const witness = await newTab(page, '/favicon.svg')
        await waitUntil(async () => (await pending(witness)) === (await pending(page)))
        const debug = await page.context().newCDPSession(page)
        const crashed = page.waitForEvent('crash')
        void debug.send('Page.crash').catch(() => undefined)
        await crashed
        return await newTab(page, '/')
      },
    ],
  ] as const) {
    test(`never reappear after ${name} during the deletion`, async () => {
      const session = await app().session()
      const { token } = session
      await mailMany(app(), session.email, 12)
      const page = await visitWithClock('/favicon.svg', OUTSIDE)
      await openMailbox(page, app(), session)
      await page.getByText('12 unread').waitFor()
      // Neither the deletion of some nor that of all the rest is answered, as when the page is closed.
      let sent = 0
      const listed = Promise.withResolvers<void>()
      const deleted = Promise.withResolvers<void>()
      await page.context().route('**/api/delete-mail', async (route) => {
        sent += 1
        if (sent <= 2) return
        await listed.promise
        await route.continue()
      })
      await page.getByRole('checkbox', { name: 'Select “Mail 3”' }).check()
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByRole('button', { name: 'Delete all' }).click()
      await page.getByText('Waiting for mail').waitFor()
      await page.clock.runFor(UNDO_MS)
      await waitUntil(() => sent === 2)
      await expect
        .poll(async () => String(await pending(page)))
        .toMatch(
          /^\[\{"token":"[\w-]+","ids":\[\d+\]\},\{"token":"[\w-]+","ids":\[[\d,]+\],"upToId":\d+\}\]$/,
        )
      expect((await subjects(app(), token)).length).toBe(12)
      await page.context().addInitScript({ content: WATCH_ROWS })
      // The first list is older than the deletions but arrives after them.
      await page.context().route('**/api/check-mail?*', async (route) => {
        // A later list may still be pending when the page is closed.
        const response = await route.fetch().catch(() => undefined)
        if (!response) return
        listed.resolve()
        await deleted.promise
        await route.fulfill({ response }).catch(() => {})
      })
      const after = await leave(page)
      await waitForSubjects(app(), token, [])
      await waitUntil(async () => (await pending(after)) === '')
      deleted.resolve()
      await after.getByText('Waiting for mail').waitFor()
      expect(await after.evaluate('rowsSeen'), 'a deleted message was listed again').toBe(0)
    })
  }
})
