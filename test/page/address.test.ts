import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { describe, test, vi } from 'vitest'
import { plainMail, row, storedMailboxes, waitForInbox } from './support/inbox.ts'
import { OWN_SERVER, openPages } from './support/pages.ts'

const { app, visit, newTab, allow } = openPages(OWN_SERVER)

const address = (page: Page) => page.locator('#address')
const press = async (page: Page, name: string) =>
  await page.getByRole('button', { name, exact: true }).click()
const shown = async (page: Page): Promise<string> => {
  await address(page).filter({ hasText: '@' }).waitFor()
  return (await address(page).textContent()) ?? ''
}
const DAY = 86_400
/** Run in the page: the layout shift of elements that were already visible. */
const COUNT_SHIFTS = `
  shift = 0
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) shift += value
  }).observe({ type: 'layout-shift', buffered: true })
`

describe('the first address', () => {
  test('appears without a click, after one API request and without layout shift', async () => {
    const page = await visit('/favicon.svg')
    const requested: string[] = []
    page.on('request', (request) => requested.push(new URL(request.url()).pathname))
    await page.addInitScript({ content: COUNT_SHIFTS })
    await page.goto(`${app().url}/`)
    const email = await shown(page)
    const calls = requested.filter((path) => path.startsWith('/api/'))
    assert.equal(calls[0], '/api/create-session')
    assert.equal(calls.filter((path) => path === '/api/create-session').length, 1)
    await waitForInbox(page)
    assert.equal(await page.evaluate('shift'), 0)
    assert.match(email, /^[a-z]+\.[a-z]+\d+@(box|pool)\.test$/)
  })

  test('is the same at the next visit, shown before any request', async () => {
    const page = await visit('/')
    const email = await shown(page)
    await page.context().route('**/api/**', (route) => route.abort())
    allow({ complaint: /ERR_FAILED/ })
    await page.reload()
    assert.equal(await shown(page), email)
  })

  test('is shared by two tabs opened at the same time', async () => {
    const page = await visit('/favicon.svg')
    const other = await newTab(page, '/favicon.svg')
    await Promise.all([page, other].map((tab) => tab.goto(`${app().url}/`)))
    assert.equal(await shown(page), await shown(other))
  })

  test('is created if the stored data is corrupt', async () => {
    const page = await visit('/favicon.svg')
    await page.evaluate(`localStorage.setItem('mayfly mailboxes', '[{"email":1},{"token":')`)
    await page.goto(`${app().url}/`)
    await shown(page)
  })

  test('is created in a browser without storage, with a notice', async () => {
    const page = await visit('/favicon.svg')
    await page.addInitScript(() => {
      Object.defineProperty(globalThis, 'localStorage', {
        get() {
          throw new DOMException('no', 'SecurityError')
        },
      })
    })
    await page.goto(`${app().url}/`)
    await shown(page)
    await page.getByText('Your browser blocks storage for this site').waitFor()
  })

  test('is created automatically once the site is reachable', async () => {
    const page = await visit('/favicon.svg')
    await page.context().route('**/api/create-session', (route) => route.abort())
    allow({ complaint: /ERR_FAILED/ })
    await page.goto(`${app().url}/`)
    await page.getByText('Could not reach the server.').waitFor()
    await page.getByText('Retrying in').waitFor()
    await page.context().unroute('**/api/create-session')
    await press(page, 'Try again')
    await shown(page)
  })

  test('is created after the rate limit, and the remaining seconds are shown', async () => {
    const page = await visit('/favicon.svg')
    const refusal = { status: 'error', message: 'Too many.', code: 'rate_limited', request_id: 'x' }
    await page
      .context()
      .route('**/api/create-session', (route) =>
        route.fulfill({ status: 429, json: refusal, headers: { 'retry-after': '7' } }),
      )
    allow({ complaint: /429/ })
    await page.goto(`${app().url}/`)
    await page.getByText('Too many requests from your network. Retrying in 7 seconds.').waitFor()
  })

  test('is stored with its token and expiry time, and no mail is stored', async () => {
    const page = await visit('/')
    const { email } = await waitForInbox(page)
    await app().mail(email, plainMail({ subject: 'Canary subject', text: 'canary body' }))
    await row(page, 'Canary subject').click()
    await page.locator('.mail-text', { hasText: 'canary body' }).waitFor()
    const memory = String(
      await page.evaluate('JSON.stringify({...localStorage, ...sessionStorage})'),
    )
    assert.ok(!/canary/i.test(memory), memory)
    const [stored = {}] = await storedMailboxes(page)
    assert.deepEqual(Object.keys(stored), ['email', 'token', 'expires', 'since'])
  })
})

describe('copying', () => {
  test('puts the address on the clipboard and confirms it', async () => {
    const page = await visit('/', { permissions: ['clipboard-read', 'clipboard-write'] })
    const email = await shown(page)
    await page.locator('.address-line').getByRole('button', { name: 'Copy' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    await page.getByRole('status').filter({ hasText: 'Address copied' }).waitFor()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), email)
  })

  test('selects the address if the browser refuses to copy', async () => {
    const page = await visit('/favicon.svg')
    await page.addInitScript({
      content: `
        Object.defineProperty(navigator, 'clipboard', { value: undefined })
        document.execCommand = () => false
      `,
    })
    await page.goto(`${app().url}/`)
    const email = await shown(page)
    await page.locator('.address-line').getByRole('button', { name: 'Copy' }).click()
    await page.getByRole('button', { name: 'Selected – press Ctrl+C' }).waitFor()
    assert.equal(String(await page.evaluate('String(getSelection())')).trim(), email)
  })
})

describe('multiple addresses', () => {
  test('a new one replaces the old one, which can be selected again and has its own mail', async () => {
    const page = await visit('/')
    const { email: first } = await waitForInbox(page)
    await app().mail(first, plainMail({ subject: 'For the first' }))
    await row(page, 'For the first').waitFor()
    await press(page, 'New address')
    await address(page).filter({ hasNotText: first }).waitFor()
    const second = await shown(page)
    await page.getByText('Waiting for mail').waitFor()
    await page.getByText('1 more address').click()
    await page.getByTitle(`Show ${first}`).click()
    await row(page, 'For the first').waitFor()
    assert.equal(await shown(page), first)
    await page.reload()
    assert.equal(await shown(page), first)
    await page.getByText('1 more address').click()
    await page.getByTitle(`Show ${second}`).waitFor()
  })

  test('an address is ended after a confirmation', async () => {
    const page = await visit('/')
    const { email, token } = await waitForInbox(page)
    await press(page, 'New address')
    await page.getByText('1 more address').click()
    await press(page, `Delete ${email}`)
    await page.getByRole('dialog').getByText('This cannot be undone').waitFor()
    await press(page, 'Cancel')
    await press(page, `Delete ${email}`)
    await press(page, 'Delete')
    await page.getByText('1 more address').waitFor({ state: 'detached' })
    const { status } = await fetch(`${app().url}/api/check-mail?token=${token}`)
    assert.equal(status, 401)
  })

  test('an address created in one tab is listed in the other', async () => {
    const page = await visit('/')
    const first = await shown(page)
    const other = await newTab(page, '/')
    await shown(other)
    await press(page, 'New address')
    await other.getByText('1 more address').waitFor()
    assert.equal(await shown(other), first, 'the other tab stays where it is')
  })
})

describe('a chosen name', () => {
  const openForm = async () => {
    const page = await visit('/')
    await shown(page)
    await press(page, 'Choose a name')
    const dialog = page.getByRole('dialog', { name: 'Choose your address' })
    await dialog.getByLabel('Domain').filter({ hasText: '@box.test' }).waitFor()
    return { page, dialog, name: dialog.getByLabel('Name') }
  }

  test('becomes the address, with the selected domain and lifetime', async () => {
    const { page, dialog, name } = await openForm()
    await name.fill('Calm.Ann')
    await dialog.getByLabel('Domain').selectOption({ label: '@box.test' })
    await dialog.getByLabel('Expires after').selectOption({ label: '1 hour' })
    await press(page, 'Create address')
    await address(page).filter({ hasText: 'calm.ann@box.test' }).waitFor()
    await page.getByText('59 min left').waitFor()
  })

  test('may accept mail only from one sender, and only one message', async () => {
    const { page, dialog, name } = await openForm()
    await name.fill('ruled')
    await dialog.getByLabel('Domain').selectOption({ label: '@box.test' })
    await dialog.getByText('More options').click()
    const senders = dialog.getByLabel('Accept mail only from')
    await senders.fill('two words')
    await dialog.getByLabel('Accept at most').selectOption({ label: '1 message' })
    await dialog.getByText('More options').click()
    await press(page, 'Create address')
    await dialog.getByText('Enter up to 10 addresses or domains').waitFor()
    await senders.fill('sender.test')
    await press(page, 'Create address')
    await address(page).filter({ hasText: 'ruled@box.test' }).waitFor()
    const codes: number[] = []
    for (const from of ['eve@other.test', 'ann@sender.test', 'ann@sender.test']) {
      const mail = `From: ${from}\r\nSubject: From ${from}\r\n\r\nx\r\n`
      codes.push(await app().mail('ruled@box.test', mail))
    }
    assert.deepEqual(codes, [550, 250, 550])
    await row(page, 'From ann@sender.test').waitFor()
  })

  test('is validated while it is typed', async () => {
    const { page, dialog, name } = await openForm()
    for (const [typed, words] of [
      ['a b', 'Use only a–z'],
      ['.ann', 'Start with a letter'],
      ['a..b', 'No two dots, hyphens or underscores in a row'],
      ['a'.repeat(65), 'At most 64'],
    ] as const) {
      await name.fill(typed)
      await dialog.getByText(words).waitFor()
      assert.equal(await name.getAttribute('aria-invalid'), 'true', typed)
      assert.ok(await page.getByRole('button', { name: 'Create address' }).isDisabled(), typed)
      await name.fill('fine')
      await dialog.getByText(words).waitFor({ state: 'detached' })
    }
  })

  for (const [name, words] of [
    ['taken-name', 'This address is taken'],
    ['admin', 'This name is reserved'],
  ] as const) {
    test(`${name} is rejected with an error at the name, and another can be tried`, async () => {
      if (name === 'taken-name') await app().session({ prefix: name, domain_id: '1' })
      const { page, dialog, name: field } = await openForm()
      allow({ complaint: /40[09]/ })
      await field.fill(name)
      await dialog.getByLabel('Domain').selectOption({ label: '@box.test' })
      await press(page, 'Create address')
      await dialog.getByText(words).waitFor()
      await field.fill(`${name}-free`)
      await dialog.getByText(words).waitFor({ state: 'detached' })
      await press(page, 'Create address')
      await address(page)
        .filter({ hasText: `${name}-free@box.test` })
        .waitFor()
    })
  }
})

describe('the expiry', () => {
  test('is counted down to, and can be extended', async () => {
    const page = await visit('/')
    await page.getByText('23 hr 59 min left').waitFor()
    await press(page, 'Extend')
    await page.getByRole('status').filter({ hasText: 'Extended until' }).waitFor()
    await page.getByText(/^(1 day 23 hr|47 hr 59 min) left$/).waitFor()
    await vi.waitUntil(async () => {
      await press(page, 'Extend')
      return await page.getByText('Already at the maximum: expires').isVisible()
    }, 30_000)
  })

  test('is shown while the page is open, and the address can be restored', async () => {
    const page = await visit('/favicon.svg')
    await page.clock.install()
    await page.goto(`${app().url}/`)
    const { email } = await waitForInbox(page)
    allow({ complaint: /401/ })
    app().moveClock(DAY + 1)
    await page.clock.fastForward((DAY + 2) * 1000)
    await page.getByText('This address has expired. Its mail was deleted.').waitFor()
    await press(page, 'Restore')
    await page.getByText('This address has expired.').waitFor({ state: 'detached' })
    assert.equal(await shown(page), email)
    await app().mail(email, plainMail({ subject: 'After the end' }))
    await row(page, 'After the end').waitFor()
  })
})
