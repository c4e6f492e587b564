import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { openMailStoreForCli } from '../../src/runtime/stores.ts'
import { opener, plainMail, row, storedMailboxes, waitForInbox } from '../kit/page/inbox.ts'
import { OWN_SERVER, openPages } from '../kit/page/pages.ts'
import { domainName } from '../kit/store/fixture.ts'
import { waitUntil } from '../kit/wait-until.ts'

const { app, visit, visitWithClock, newTab, allow } = openPages(OWN_SERVER)

const address = (page: Page) => page.locator('#address')
const press = async (page: Page, name: string) =>
  await page.getByRole('button', { name, exact: true }).click()
const shown = async (page: Page): Promise<string> => {
  await address(page).filter({ hasText: '@' }).waitFor()
  return (await address(page).textContent()) ?? ''
}
const DAY = 86_400
/** Run in the page: the layout shift of elements that were already visible, and which they are. */
const COUNT_SHIFTS = `
  shift = 0
  shifted = []
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) {
      shift += value
      for (const { node, previousRect, currentRect } of sources)
        shifted.push({ value, node: node?.outerHTML ?? node?.textContent, previousRect, currentRect })
    }
  }).observe({ type: 'layout-shift', buffered: true })
`
/** A word of 50 × 20 pixels that moves by 10: less is not noticed. */
const MAX_SHIFT = 1e-5

describe('the first address', () => {
  test('appears without a click, after one API request and without layout shift; it is stored, its mail is not, and it is shown before any request at the next visit', async () => {
    const page = await visit('/favicon.svg')
    const requested: string[] = []
    page.on('request', (request) => requested.push(new URL(request.url()).pathname))
    await page.addInitScript({ content: COUNT_SHIFTS })
    await page.goto(`${app().url}/`)
    const email = await shown(page)
    const calls = requested.filter((path) => path.startsWith('/api/'))
    expect(calls[0]).toBe('/api/create-session')
    expect(calls.filter((path) => path === '/api/create-session').length).toBe(1)
    await waitForInbox(page)
    const shifted = String(await page.evaluate('JSON.stringify(shifted)'))
    expect(await page.evaluate('shift'), shifted).toBeLessThan(MAX_SHIFT)
    expect(email).toMatch(/^[a-z]+\.[a-z]+\d+@(box|pool)\.test$/)

    await app().mail(email, plainMail({ subject: 'Canary subject', text: 'canary body' }))
    await row(page, 'Canary subject').click()
    await page.locator('.mail-text', { hasText: 'canary body' }).waitFor()
    const memory = String(
      await page.evaluate('JSON.stringify({...localStorage, ...sessionStorage})'),
    )
    expect(memory, memory).not.toMatch(/canary/i)
    const [stored = {}] = await storedMailboxes(page)
    expect(Object.keys(stored)).toStrictEqual(['email', 'token', 'expires', 'since'])

    await page.context().route('**/api/**', (route) => route.abort())
    allow({ complaint: /ERR_FAILED/ })
    await page.reload()
    await expect.poll(() => shown(page)).toBe(email)
  })

  test('is shared by two tabs opened at the same time, and one created later in either is listed in the other', async () => {
    const page = await visit('/favicon.svg')
    const other = await newTab(page, '/favicon.svg')
    await Promise.all([page, other].map((tab) => tab.goto(`${app().url}/`)))
    const first = await shown(page)
    await expect.poll(() => shown(other)).toBe(first)
    await press(page, 'New address')
    await other.getByText('1 more address').waitFor()
    await expect
      .poll(() => shown(other), { message: 'the other tab stays where it is' })
      .toBe(first)
  })

  test('is created in a browser without storage or clipboard, with a notice, and copying selects it', async () => {
    const page = await visit('/favicon.svg')
    await page.addInitScript(() => {
      Object.defineProperty(globalThis, 'localStorage', {
        get() {
          throw new DOMException('no', 'SecurityError')
        },
      })
    })
    await page.addInitScript({
      content: `
        Object.defineProperty(navigator, 'clipboard', { value: undefined })
        document.execCommand = () => false
      `,
    })
    await page.goto(`${app().url}/`)
    const email = await shown(page)
    await page.getByText('Your browser blocks storage for this site').waitFor()
    await page.locator('.address-line').getByRole('button', { name: 'Copy' }).click()
    await page.getByRole('button', { name: 'Selected – press Ctrl+C' }).waitFor()
    await expect
      .poll(async () => String(await page.evaluate('String(getSelection())')).trim())
      .toBe(email)
  })

  test('is created although the stored data is corrupt, once the rate limit or the network allows it, and the seconds until then are shown', async () => {
    const page = await visit('/favicon.svg')
    await page.evaluate(`localStorage.setItem('mayfly mailboxes', '[{"email":1},{"token":')`)
    const refusal = { status: 'error', message: 'Too many.', code: 'rate_limited', request_id: 'x' }
    await page
      .context()
      .route('**/api/create-session', (route) =>
        route.fulfill({ status: 429, json: refusal, headers: { 'retry-after': '7' } }),
      )
    allow({ complaint: /429|ERR_FAILED/ })
    await page.goto(`${app().url}/`)
    await page.getByText('Too many requests from your network. Retrying in 7 seconds.').waitFor()
    await page.context().route('**/api/create-session', (route) => route.abort())
    await press(page, 'Try again')
    await page.getByText('Could not reach the server.').waitFor()
    await page.getByText('Retrying in').waitFor()
    await page.context().unroute('**/api/create-session')
    await press(page, 'Try again')
    await shown(page)
  })
})

test('a new address replaces the old one, which can be selected again, has its own mail, and is ended after a confirmation', async () => {
  const page = await visit('/', { permissions: ['clipboard-read', 'clipboard-write'] })
  const { email: first, token } = await waitForInbox(page)
  await page.locator('.address-line').getByRole('button', { name: 'Copy' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  await page.getByRole('status').filter({ hasText: 'Address copied' }).waitFor()
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(first)

  await app().mail(first, plainMail({ subject: 'For the first' }))
  await opener(page, 'For the first').click()
  await press(page, 'New address')
  await address(page).filter({ hasNotText: first }).waitFor()
  const second = await shown(page)
  await page.getByText('Waiting for mail').waitFor()
  await row(page, 'For the first').waitFor({ state: 'detached' })
  await app().mail(first, plainMail({ subject: 'Late for the first' }))
  await app().mail(second, plainMail({ subject: 'For the second' }))
  await row(page, 'For the second').waitFor()
  expect(await page.locator('.mail').count()).toBe(1)

  await page.getByText('1 more address').click()
  await page.getByTitle(`Show ${first}`).click()
  await row(page, 'Late for the first').waitFor()
  await expect.poll(() => page.locator('.mail').count()).toBe(2)
  await expect.poll(() => shown(page)).toBe(first)
  await page.reload()
  await expect.poll(() => shown(page)).toBe(first)
  await page.getByText('1 more address').click()
  await page.getByTitle(`Show ${second}`).click()
  await address(page).filter({ hasText: second }).waitFor()
  await press(page, `Delete ${first}`)
  await page.getByRole('dialog').getByText('This cannot be undone').waitFor()
  await press(page, 'Cancel')
  await press(page, `Delete ${first}`)
  await press(page, 'Delete')
  await page.getByText('1 more address').waitFor({ state: 'detached' })
  const { status } = await fetch(`${app().url}/api/check-mail?token=${token}`)
  expect(status).toBe(401)
})

describe('a chosen name', () => {
  async function openForm(page: Page) {
    await press(page, 'Choose a name')
    const dialog = page.getByRole('dialog', { name: 'Choose your address' })
    await dialog.getByLabel('Domain').filter({ hasText: '@box.test' }).waitFor()
    await dialog.getByLabel('Domain').selectOption({ label: '@box.test' })
    return { dialog, name: dialog.getByLabel('Name') }
  }

  test('becomes the address, with the selected domain and lifetime, and may accept mail only from one sender and only one message', async () => {
    const page = await visit('/')
    await shown(page)
    const { dialog, name } = await openForm(page)
    await name.fill('Calm.Ann')
    await dialog.getByLabel('Expires after').selectOption({ label: '1 hour' })
    await press(page, 'Create address')
    await address(page).filter({ hasText: 'calm.ann@box.test' }).waitFor()
    await page.getByText('59 min left', { exact: true }).waitFor()

    await openForm(page)
    await name.fill('ruled')
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
    expect(codes).toStrictEqual([550, 250, 550])
    await row(page, 'From ann@sender.test').waitFor()

    // The card says what the address accepts, and what it has refused.
    const settings = page.locator('.address-settings')
    await settings.getByText('Only from sender.test · At most 1 message').waitFor()
    await page.getByRole('button', { name: 'Check now' }).click()
    await settings.getByText('2 messages rejected').waitFor()
    await press(page, 'Edit')
    const form = page.getByRole('dialog', { name: 'Label and rules' })
    await form.getByRole('button', { name: 'Label it “ann@sender.test”' }).click()
    await expect.poll(() => form.getByLabel('Label').inputValue()).toBe('ann@sender.test')
    await form.getByLabel('Label').fill('Shop trial')
    await form.getByLabel('Accept mail only from').fill('two words')
    await press(page, 'Save')
    await form.getByText('Enter up to 10 addresses or domains').waitFor()
    await form.getByLabel('Accept mail only from').fill('')
    await form.getByLabel('Accept at most').selectOption({ label: 'No limit' })
    await press(page, 'Save')
    await form.waitFor({ state: 'detached' })
    await settings.getByText('Shop trial').waitFor()
    await settings.getByText('Only from').waitFor({ state: 'detached' })
    const late = 'From: eve@other.test\r\nSubject: Welcome now\r\n\r\nx\r\n'
    expect(await app().mail('ruled@box.test', late)).toBe(250)
    await row(page, 'Welcome now').waitFor()
    await page.getByText('2 more addresses').click()
    await page.getByTitle('Show calm.ann@box.test').click()
    await page.locator('.switcher').getByText('Shop trial').waitFor()
  })

  test('below a wildcard domain has a chosen or a random subdomain', async () => {
    const store = await openMailStoreForCli(app().config)
    const name = domainName('*.wild.test')
    await store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
    const page = await visit('/')
    await shown(page)
    const { dialog, name: prefix } = await openForm(page)
    const subdomain = dialog.getByLabel('Subdomain')
    expect(await subdomain.count()).toBe(0)
    await dialog.getByLabel('Domain').selectOption({ label: '@*.wild.test' })
    await prefix.fill('ann')
    await subdomain.fill('www')
    allow({ complaint: /400/ })
    await press(page, 'Create address')
    await dialog.getByText('This name is reserved').waitFor()
    await subdomain.fill('team')
    await press(page, 'Create address')
    await address(page).filter({ hasText: 'ann@team.wild.test' }).waitFor()
    await openForm(page)
    await dialog.getByLabel('Domain').selectOption({ label: '@*.wild.test' })
    await prefix.fill('ann')
    await press(page, 'Create address')
    await address(page)
      .filter({ hasText: /^ann@[a-z]+\d{3}\.wild\.test$/ })
      .waitFor()
    await store.changeDomain(name, { removed: true })
    await store.close()
  })

  test('is validated while it is typed; one that is taken or reserved is rejected at the name, and another can be tried', async () => {
    await app().session({ prefix: 'taken-name', domain_id: '1' })
    const page = await visit('/')
    await shown(page)
    const { dialog, name } = await openForm(page)
    const dialogWith = (text: string) => page.getByRole('dialog').getByText(text)
    for (const [typed, words] of [
      ['a b', 'Use only a–z'],
      ['.ann', 'Start with a letter'],
      ['a..b', 'No two dots, hyphens or underscores in a row'],
      ['a'.repeat(65), 'At most 64'],
    ] as const) {
      await name.fill(typed)
      await dialog.getByText(words).waitFor()
      await expect.poll(() => name.getAttribute('aria-invalid'), { message: typed }).toBe('true')
      await expect
        .poll(() => page.getByRole('button', { name: 'Create address' }).isDisabled(), {
          message: typed,
        })
        .toBeTruthy()
      await name.fill('fine')
      await dialog.getByText(words).waitFor({ state: 'detached' })
    }
    await press(page, 'Close')
    await dialog.waitFor({ state: 'detached' })

    // Its own, deleted in this tab.
    await openForm(page)
    await name.fill('mine')
    await press(page, 'Create address')
    await address(page).filter({ hasText: 'mine@box.test' }).waitFor()
    await press(page, 'Delete address')
    await dialogWith('Nobody, including you, can use it again for 30 days').waitFor()
    await press(page, 'Delete')
    await address(page).filter({ hasNotText: 'mine@box.test' }).waitFor()

    allow({ complaint: /40[09]/ })
    for (const [rejected, words] of [
      ['mine', 'You deleted this address. It stays reserved until'],
      ['taken-name', 'This address is taken'],
      ['admin', 'This name is reserved'],
    ] as const) {
      await openForm(page)
      await name.fill(rejected)
      await press(page, 'Create address')
      await dialog.getByText(words).waitFor()
      await name.fill(`${rejected}-free`)
      await dialog.getByText(words).waitFor({ state: 'detached' })
      await press(page, 'Create address')
      await address(page)
        .filter({ hasText: `${rejected}-free@box.test` })
        .waitFor()
    }
  })
})

describe('the expiry', () => {
  test('is counted down to, and can be extended', async () => {
    const page = await visit('/')
    await page.getByText('23 hr 59 min left').waitFor()
    await press(page, 'Extend')
    await page.getByRole('status').filter({ hasText: 'Extended until' }).waitFor()
    await page.getByText(/^(1 day 23 hr|47 hr 59 min) left$/).waitFor()
    // At the maximum no request is sent.
    await waitUntil(async () => {
      await press(page, 'Extend')
      return await page.getByText('Already at the maximum: expires').isVisible()
    })
  })

  test('is shown while the page is open, and the address can be restored', async () => {
    const page = await visitWithClock('/')
    const { email } = await waitForInbox(page)
    allow({ complaint: /401/ })
    app().moveClock(DAY + 1)
    await page.clock.fastForward((DAY + 2) * 1000)
    await page.getByText('This address has expired. Its mail was deleted.').waitFor()
    expect(await page.getByText('Live – new mail').count(), 'not even for a moment').toBe(0)
    const restore = page.getByRole('button', { name: 'Restore', exact: true })
    const place = await restore.boundingBox()
    await restore.click()
    await page.getByText('This address has expired.').waitFor({ state: 'detached' })
    const [x, y] = [(place?.x ?? 0) + 10, (place?.y ?? 0) + 10]
    const below = await page.evaluate(
      `document.elementFromPoint(${x}, ${y})?.closest('button')?.textContent ?? ''`,
    )
    expect(below, 'a second click deletes nothing').not.toContain('Delete')
    await expect.poll(() => shown(page)).toBe(email)
    await app().mail(email, plainMail({ subject: 'After the end' }))
    await row(page, 'After the end').waitFor()
  })
})
