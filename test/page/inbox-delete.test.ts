import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { describe, test, vi } from 'vitest'
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
} from './support/inbox.ts'
import { openPages } from './support/pages.ts'

// Behind a proxy, so that rate limits apply to the browser.
const { app, visit, visitWithClock, newTab } = openPages({ MAYFLY_TRUST_PROXY: '127.0.0.1' })
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
const pending = (page: Page) =>
  page.evaluate(
    `['deleting', 'deleting all'].map((name) => localStorage.getItem('mayfly ' + name) ?? '').join('')`,
  )

describe('a deleted message', () => {
  test('disappears at once, is restored by undo, and stays on the server until then', async () => {
    const page = await visit('/')
    const { email, token } = await waitForInbox(page)
    await mailMany(app(), email, 2)
    await opener(page, 'Mail 1').focus()
    await page.keyboard.press('#')
    await row(page, 'Mail 1').waitFor({ state: 'detached' })
    await page.locator('.toast', { hasText: 'Message deleted' }).waitFor()
    assert.deepEqual(await subjects(app(), token), ['Mail 2', 'Mail 1'])
    await page.getByRole('button', { name: 'Undo' }).click()
    await row(page, 'Mail 1').waitFor()
    await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' })
    assert.equal(await page.title(), '(2) Inbox – Mayfly')
    await page.reload()
    await row(page, 'Mail 1').waitFor()
    assert.equal(await pending(page), '')
  })

  test('is deleted on the server when the time to undo is over', async () => {
    const page = await visitWithClock('/')
    const { email, token } = await waitForInbox(page)
    await mailMany(app(), email, 3)
    await row(page, 'Mail 3').waitFor()
    await opener(page, 'Mail 2').click()
    await page.getByRole('heading', { name: 'Mail 2' }).waitFor()
    await reader(page).getByRole('button', { name: 'Delete' }).click()
    // The next older message takes its place.
    await page.getByRole('heading', { name: 'Mail 1' }).waitFor()
    await page.clock.runFor(UNDO_MS)
    await waitForSubjects(app(), token, ['Mail 3', 'Mail 1'])
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0)
  })

  test('can be restored as long as the undo button has the focus', async () => {
    const page = await visitWithClock('/')
    const { email, token } = await waitForInbox(page)
    await mailMany(app(), email, 1)
    await opener(page, 'Mail 1').focus()
    await page.keyboard.press('#')
    await page.getByRole('button', { name: 'Undo' }).focus()
    await page.clock.runFor(60_000)
    assert.deepEqual(await subjects(app(), token), ['Mail 1'])
    await page.keyboard.press('Enter')
    await row(page, 'Mail 1').waitFor()
  })

  test('is also deleted if the page is closed before that', async () => {
    const page = await visit('/')
    const { email, token } = await waitForInbox(page)
    await mailMany(app(), email, 2)
    await opener(page, 'Mail 2').focus()
    await page.keyboard.press('#')
    await row(page, 'Mail 2').waitFor({ state: 'detached' })
    await page.goto(`${app().url}/docs`)
    await waitForSubjects(app(), token, ['Mail 1'])
  })
})

describe('several messages', () => {
  test('are selected with checkboxes, and deleted and restored together', async () => {
    const page = await visitWithClock('/')
    const { email, token } = await waitForInbox(page)
    await mailMany(app(), email, 4)
    for (const name of ['Mail 1', 'Mail 3']) {
      await page.getByRole('checkbox', { name: `Select “${name}”` }).check()
    }
    const all = page.getByRole('checkbox', { name: '2 selected' })
    assert.equal(
      await all.evaluate((box) => (box as unknown as { indeterminate: boolean }).indeterminate),
      true,
    )
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.locator('.toast', { hasText: '2 messages deleted' }).waitFor()
    assert.equal(await page.locator('.mail').count(), 2)
    await page.getByRole('button', { name: 'Undo' }).click()
    await row(page, 'Mail 3').waitFor()
    assert.equal(await page.getByRole('checkbox', { checked: true }).count(), 0)

    await page.getByRole('checkbox', { name: 'Select “Mail 4”' }).check()
    await page.keyboard.press('#')
    await page.locator('.toast', { hasText: 'Message deleted' }).waitFor()
    await page.clock.runFor(UNDO_MS)
    await waitForSubjects(app(), token, ['Mail 3', 'Mail 2', 'Mail 1'])
  })

  test('that a search hides are not deleted with the others', async () => {
    const page = await visitWithClock('/')
    const { email, token } = await waitForInbox(page)
    await app().mail(email, plainMail({ subject: 'Keep me' }))
    await app().mail(email, plainMail({ subject: 'Not me' }))
    await row(page, 'Not me').waitFor()
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await page.getByRole('searchbox').fill('not')
    await page.getByRole('checkbox', { name: '1 selected' }).waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.clock.runFor(UNDO_MS)
    await waitForSubjects(app(), token, ['Keep me'])
  })

  test('are called results while a search is on, and only those are deleted then', async () => {
    const page = await visitWithClock('/')
    const { email, token } = await waitForInbox(page)
    for (const subject of ['Keep', 'Lose one', 'Lose two']) {
      await app().mail(email, plainMail({ subject }))
    }
    await row(page, 'Lose two').waitFor()
    await page.getByRole('searchbox').fill('lose')
    await page.getByRole('button', { name: 'Delete 2 results' }).click()
    await page.locator('.toast', { hasText: '2 messages deleted' }).waitFor()
    await page.getByRole('searchbox').fill('')
    await page.getByRole('button', { name: 'Delete all' }).waitFor()
    await page.clock.runFor(UNDO_MS)
    await waitForSubjects(app(), token, ['Keep'])
  })

  for (const [name, choose, expected] of [
    ['all', async () => undefined, /^all=1&up_to_id=\d+$/],
    [
      'selected ones',
      async (page: Page) => page.getByRole('checkbox', { name: 'Select all' }).check(),
      /^ids=\d+(%2C\d+){29}$/,
    ],
  ] as const) {
    test(`are deleted with one request: ${name}`, async () => {
      const session = await app().session()
      await mailMany(app(), session.email, 30)
      const page = await visit('/favicon.svg', OUTSIDE)
      await page.clock.install()
      const sent: string[] = []
      page.on('request', (request) => {
        if (request.url().endsWith('/api/delete-mail')) sent.push(request.postData() ?? '')
      })
      await openMailbox(page, app(), session)
      await page.getByText('30 unread').waitFor()
      await choose(page)
      await page.getByRole('button', { name: /^Delete( all)?$/ }).click()
      await page.getByText('Waiting for mail').waitFor()
      // What arrives in the meantime stays.
      await app().mail(session.email, plainMail({ subject: 'Newer' }))
      await row(page, 'Newer').waitFor()
      await page.clock.runFor(UNDO_MS)
      await waitForSubjects(app(), session.token, ['Newer'])
      assert.equal(sent.length, 1)
      assert.match(sent[0] ?? '', expected)
      assert.equal(await page.locator('.mail').count(), 1)
    })
  }

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
        await vi.waitUntil(async () => (await pending(witness)) === (await pending(page)), 30_000)
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
      const page = await visit('/favicon.svg', OUTSIDE)
      await page.clock.install()
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
      await vi.waitUntil(() => sent === 2, 30_000)
      assert.match(
        String(await pending(page)),
        /^\{"[^"]+@[^"]+":\[\d+\]\}\{"[^"]+@[^"]+":\[\d+\]\}$/,
      )
      assert.equal((await subjects(app(), token)).length, 12)
      await page.context().addInitScript({ content: WATCH_ROWS })
      // The first list is older than the deletions but arrives after them.
      await page.context().route('**/api/check-mail?*', async (route) => {
        const response = await route.fetch()
        listed.resolve()
        await deleted.promise
        // A later list may still be pending when the page is closed.
        await route.fulfill({ response }).catch(() => {})
      })
      const after = await leave(page)
      await waitForSubjects(app(), token, [])
      await vi.waitUntil(async () => (await pending(after)) === '', 30_000)
      deleted.resolve()
      await after.getByText('Waiting for mail').waitFor()
      assert.equal(await after.evaluate('rowsSeen'), 0, 'a deleted message was listed again')
    })
  }
})
