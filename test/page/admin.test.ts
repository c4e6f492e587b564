import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import type { Host } from '../../src/base/address.ts'
import { openMailStoreForCli } from '../../src/runtime/stores.ts'
import { request } from '../kit/http/http-client.ts'
import { openPages } from '../kit/page/pages.ts'
import { ADMIN_ENV, ADMIN_TOKEN, openView, signIn } from '../kit/page/views/admin.ts'

const { app, visit, allow } = openPages({ ...ADMIN_ENV, MAYFLY_TRUST_PROXY: '127.0.0.0/8' })

/** The page, signed in. */
async function openAdmin(): Promise<Page> {
  allow({ complaint: /400|401/ })
  const page = await visit('/admin')
  await signIn(page)
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  return page
}

/** The focus moves after the page has changed. */
async function assertFocused(page: Page, text: RegExp): Promise<void> {
  await expect.poll(() => page.evaluate('document.activeElement.innerText')).toMatch(text)
}

test('the operator signs in, works and signs out; a wrong token is refused', async () => {
  allow({ complaint: /400|401/ })
  const page = await visit('/admin')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Enter the admin token.').waitFor()
  await signIn(page, 'wrong')
  await page.getByText('This is not the admin token.').waitFor()
  await expect.poll(() => page.getByLabel('Admin token').getAttribute('aria-invalid')).toBe('true')
  await expect.poll(() => page.title()).toBe('Admin – Mayfly')
  await signIn(page)
  await page.getByText('Only mail to postmaster and abuse is readable').first().waitFor()

  // The token is neither stored nor readable for scripts, and a reload keeps the sign-in.
  const stored = 'JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])'
  const text = String(await page.evaluate(stored))
  expect(text, text).not.toMatch(/admin-token|mayfly-admin/)
  await page.reload()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()

  await openView(page, 'Domains')
  await expect.poll(() => page.title()).toBe('Domains – Admin – Mayfly')
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Add a domain' }).click()
  await dialog.getByLabel('Name').fill('nodot')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await dialog.getByRole('alert').getByText('is not a domain name').waitFor()
  await dialog.getByLabel('Name').fill('*.new.test')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  const added = page.getByRole('listitem').filter({ hasText: '*.new.test' })
  await added.getByRole('button', { name: 'Deactivate: *.new.test' }).click()
  await dialog.getByText('no longer offered').waitFor()
  await dialog.getByRole('button', { name: 'Deactivate' }).click()
  await added.getByText('Inactive').waitFor()
  await added.getByRole('button', { name: 'Remove: *.new.test' }).click()
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('status').getByText('Removed: *.new.test').waitFor()
  await added.getByRole('button', { name: 'Add again: *.new.test' }).click()
  await page.getByRole('status').getByText('Added: *.new.test').waitFor()

  const { email, token } = await app().session()
  await openView(page, 'Sessions')
  await page.getByLabel('Address').fill(email)
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByRole('button', { name: `End session: ${email}` }).click()
  await dialog.getByRole('button', { name: 'End session' }).click()
  await page.getByText(`The session of ${email} has ended.`).waitFor()
  const check = await fetch(`${app().url}/api/check-mail?token=${token}`)
  expect(check.status).toBe(401)

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Admin token').waitFor()
  await page.reload()
  await page.getByLabel('Admin token').waitFor()
})

test('a domain of a key is deactivated, activated and removed', async () => {
  const store = await openMailStoreForCli(app().config)
  const claim = { id: 'dom_1', keyId: 'key_1', name: 'mail.own.test' as Host, token: 'token' }
  await store.addOwnDomain({ ...claim, createdAt: app().now() }, 1)
  await store.activateOwnDomain({ ...claim, now: app().now() })
  await store.close()
  const page = await openAdmin()
  await openView(page, 'Domains')
  await page.getByText('box.test').first().waitFor()
  expect(await page.getByText('mail.own.test').count()).toBe(0)
  await openView(page, 'Key domains')
  const entry = page.getByRole('listitem').filter({ hasText: 'mail.own.test' })
  const press = async (name: string) => {
    await entry.getByRole('button', { name: `${name}: mail.own.test` }).click()
    if (name !== 'Activate') await page.getByRole('dialog').getByRole('button', { name }).click()
  }
  await press('Deactivate')
  await entry.getByText('Suspended').waitFor()
  await entry.getByText('Deactivated by you').waitFor()
  await press('Activate')
  await entry.getByText('Active', { exact: true }).waitFor()
  await press('Remove')
  await page.getByText('Nothing here yet.').waitFor()
})

test('the overview is one request, and all of its plots show the values at the pointer', async () => {
  const store = await openMailStoreForCli(app().config)
  const minute = Math.floor(app().now().getTime() / 60_000) * 60_000
  for (const ago of [2, 3]) {
    const counts = { mails: { stored: ago * 100 }, sessions: { '': ago * 7 } }
    await store.saveMinute({ at: new Date(minute - ago * 60_000), node: 'one', counts })
  }
  await store.close()
  const page = await openAdmin()
  await page.locator('.plot canvas').first().waitFor()
  const requested: string[] = []
  page.on('request', (sent) => requested.push(new URL(sent.url()).pathname))
  await page.reload()
  const plot = (name: string) => page.getByRole('region', { name })
  const mails = plot('Mail by outcome')
  const legends = async () =>
    await Promise.all(
      [mails, plot('Live sessions')].map((one) => one.locator('.plot-legend').innerText()),
    )
  await mails.locator('canvas').waitFor()
  const calls = requested.filter((path) => path.startsWith('/admin/api/'))
  expect(calls).toEqual(['/admin/api/sign-in', '/admin/api/overview'])
  await expect.poll(async () => (await legends())[0]).toMatch(/^Total\s+Stored\s+500$/)
  await page.locator('.tile', { hasText: /^–\s*Checks\s*Not checked yet\.$/ }).waitFor()
  await page.setViewportSize({ width: 1920, height: 1080 })
  await page.waitForFunction(`document.querySelector('main').clientWidth > 1_800`)
  // The last minutes: which of them is complete depends on the time.
  const steps = mails.locator('.u-over')
  const { width = 0 } = (await steps.boundingBox()) ?? {}
  const atThreeHundred = async () => {
    for (const last of [0, 1, 2, 3]) {
      await steps.hover({ position: { x: width * (1 - (last + 0.5) / 60), y: 20 } })
      const [byOutcome = '', sessions = ''] = await legends()
      const [time = ''] = byOutcome.split('\n')
      if (byOutcome.endsWith('300')) return `${time}, ${sessions.replace(time, 'the same')}`
    }
    return ''
  }
  await expect.poll(atThreeHundred).toMatch(/^\d+:\d\d [AP]M, the same\n+Live sessions\n+21$/)
})

test('the form says why nobody can sign in while the service is unavailable, and tells a browser that drops the cookie about https', async () => {
  allow({ complaint: /401|503/ })
  const page = await visit('/admin')
  const alert = page.getByRole('alert')
  // As over http, if the address of the service is https.
  await page.route('**/admin/api/sign-in', async (route) => {
    await page.context().clearCookies()
    await route.continue()
  })
  await signIn(page)
  await alert.getByText('Open the page by its https address.').waitFor()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  await page.unroute('**/admin/api/sign-in')

  const message = 'Nobody can sign in now: PostgreSQL cannot be reached'
  const json = { status: 'error', code: 'overloaded', message, request_id: 'one' }
  await page.route('**/admin/api/sign-in', (route) => route.fulfill({ status: 503, json }))
  await page.reload()
  await alert.getByText(message).waitFor()
  expect(await page.getByRole('button', { name: 'Sign out' }).count()).toBe(0)
  await signIn(page)
  await alert.getByText(message).waitFor()
  await page.unroute('**/admin/api/sign-in')
  await page.evaluate("location.hash = '#domains'")
  await signIn(page)
  await page.getByRole('heading', { name: 'Domains', exact: true, level: 2 }).waitFor()
})

test('a change keeps what a command has changed meanwhile, and the next page of a list has no gap for an entry removed meanwhile', async () => {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const post = async (path: string, form: Record<string, string>) => {
    const options = { method: 'POST', headers, body: new URLSearchParams(form) }
    expect((await request(`${app().url}/admin/api${path}`, options)).status).toBe(200)
  }
  const names = Array.from({ length: 53 }, (_, at) => `spam${at}.test`)
  for (const entry of names) await post('/blocks', { entry })
  const page = await openAdmin()
  await openView(page, 'Domains')
  await page.getByRole('button', { name: 'Change box.test' }).click()
  await post('/domains/change', { name: 'box.test', ttl: '2h' })
  await page.getByLabel('Keep mail to unclaimed addresses in the pool').check()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('status').getByText('Saved: box.test').waitFor()
  const { body: found } = await request(`${app().url}/admin/api/domains`, { headers })
  const [domain] = found['domains'] as Record<string, unknown>[]
  expect([domain?.['ttl'], domain?.['reader']]).toStrictEqual(['2h', true])

  await openView(page, 'Block list')
  const entries = page.getByRole('list', { name: 'Block list' }).getByRole('listitem')
  await expect.poll(() => entries.count()).toBe(50)
  await post('/blocks/remove', { entry: 'spam50.test' })
  await page.getByRole('button', { name: 'Show more' }).click()
  await entries.nth(52).waitFor()
  const shown = (await entries.allInnerTexts()).map((text) => /^spam\d+\.test/.exec(text)?.[0])
  expect(shown).toStrictEqual(names.toReversed())
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Block a sender' }).click()
  const entry = dialog.getByLabel('Domain, address')
  await entry.fill('10.0.0.1')
  await dialog.getByRole('button', { name: 'Block', exact: true }).click()
  await dialog.getByRole('alert').getByText('10.0.0.1: private address, often a proxy.').waitFor()
  await entry.fill('10.0.0.2')
  await dialog.getByRole('button', { name: 'Block', exact: true }).click()
  await dialog.getByRole('button', { name: 'Block anyway' }).click()
  await page.getByRole('status').getByText('Blocked: 10.0.0.2').waitFor()
})

const REPORTER = 'reporter@sender.test'

test('an open message has an address of its own and offers to act, the focus never gets lost, and the checks are made on a click, which shows how far they are', async () => {
  const { email } = await app().session()
  for (const subject of ['One', 'Two', 'Three']) {
    const text = `This is ${subject}. See <${email.toUpperCase()}>, nobody@box.test.`
    const report = `From: ${REPORTER}\r\nSubject: ${subject}\r\n\r\n${text}\r\n`
    await app().mail('abuse@box.test', report)
  }
  const page = await openAdmin()
  await openView(page, 'Operator mail')
  await page.getByRole('link', { name: 'Read: Two' }).click()
  await page.getByText('This is Two.').waitFor()
  expect(page.url()).toMatch(/#mail\/\d+$/)
  await assertFocused(page, /^Two$/)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Save as .eml' }).click(),
  ])
  expect(readFileSync(await download.path(), 'utf8')).toMatch(/Subject: Two\r\n\r\nThis is Two\./)
  await page.reload()
  await page.getByText('This is Two.').waitFor()
  // By the link of the view as well as by the browser.
  await openView(page, 'Operator mail')
  await page.goBack()
  await page.getByText('This is Two.').waitFor()
  const dialog = page.getByRole('dialog')
  const named = page.getByRole('region', { name: 'Live addresses named in this message' })
  await named.getByRole('button', { name: `End session: ${email}` }).click()
  await dialog.getByRole('button', { name: 'End session' }).click()
  await page.getByText(`The session of ${email} has ended.`).waitFor()
  await expect.poll(() => named.count()).toBe(0)
  await page.getByRole('button', { name: 'Block a sender' }).click()
  await expect.poll(() => dialog.getByLabel('IP address').inputValue()).toBe(REPORTER)
  await dialog.getByRole('button', { name: 'Block', exact: true }).click()
  await page.getByRole('status').getByText(`Blocked: ${REPORTER}`).waitFor()
  await page.getByRole('link', { name: 'Back to the list' }).click()
  await page.getByRole('button', { name: 'Delete: Two' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('status').getByText('Deleted: Two').waitFor()
  // The entry that took its place.
  await assertFocused(page, /^One\n/)
  await page.getByRole('button', { name: 'Delete all' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete all' }).click()
  await page.getByText('Nothing here yet.').waitFor()
  await assertFocused(page, /^Nothing here yet/)

  const finish = await holdChecks(page)
  await openView(page, 'Checks')
  await page.getByText('Not checked yet.').waitFor()
  const button = page.getByRole('button', { name: 'Check now' })
  await button.click()
  await page.locator('progress[value="3"][max="12"]').waitFor()
  await expect.poll(() => button.getAttribute('aria-disabled')).toBe('true')
  finish()
  await page.getByRole('listitem').filter({ hasText: 'mx box.test' }).waitFor()
  await page.getByRole('progressbar').waitFor({ state: 'detached' })
  await assertFocused(page, /^Check now$/)
})

/** From now on, checks are under way from their start until the returned function is called; one of them has failed then. */
async function holdChecks(page: Page): Promise<() => void> {
  const check = { name: 'mx', subject: 'box.test', status: 'failure', seen: 'none', fix: '' }
  const times = { since_iso: '2026-03-01T12:00:00Z', finished_at_iso: '2026-03-01T12:00:00Z' }
  const before = { finished_at_iso: null, next_at_iso: null, checks: [] }
  const after = { ...before, ...times, running: null, checks: [{ ...check, ...times }] }
  const end = Promise.withResolvers<void>()
  let json: object = { ...before, running: null }
  await page.route('**/admin/api/checks*', (route) => route.fulfill({ json }))
  await page.route('**/admin/api/checks/run', async (route) => {
    json = { ...before, running: { done: 3, all: 12 } }
    await end.promise
    json = after
    await route.fulfill({ json })
  })
  return end.resolve
}

test('while the operator is signed in, a page of the same or of another site changes nothing, by a form or by a script', async () => {
  const server = createServer((request, response) => {
    const [, kind = ''] = (request.url ?? '').split('/')
    response.setHeader('content-type', 'text/html')
    response.end(attack(kind, `${app().url}/admin/api/domains`))
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const page = await openAdmin()
  // Another port is the same site, so the browser sends the cookie; another host name is another site.
  for (const host of ['127.0.0.1', 'localhost']) {
    const origin = `http://${host}:${port}`
    allow({ origin, complaint: /401|403|ERR_/ })
    for (const kind of ['form', 'fetch']) {
      const other = await page.context().newPage()
      const [sent] = await Promise.all([
        other.waitForRequest(`${app().url}/admin/api/domains`),
        other.goto(`${origin}/${kind}`),
      ])
      const response = await sent.response()
      if (kind === 'fetch') {
        // Not even the script of the page may see the response.
        expect(sent.failure()?.errorText ?? '').toMatch(/ERR_BLOCKED_BY_RESPONSE/)
        continue
      }
      const { cookie = '' } = await sent.allHeaders()
      expect(cookie.includes('mayfly-admin='), cookie).toBe(host === '127.0.0.1')
      expect(response?.status()).toBe(403)
    }
  }
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const { text } = await request(`${app().url}/admin/api/domains`, { headers })
  expect(text, text).not.toContain('evil.test')
})

// The last one: the clock stays as it is.
test('an expired sign-in leads back to the form, which says so', async () => {
  const page = await openAdmin()
  const cookies = await page.context().cookies()
  app().moveClock(12 * 3_600)
  // Not by the link: a request that was under way may have led to the form already.
  await page.evaluate(`location.hash = '#keys'`)
  await page.getByText('You are no longer signed in. Sign in again.').waitFor()
  // The browser, whose clock has not moved, still has it.
  expect(await page.context().cookies()).toStrictEqual(cookies)
  expect(cookies.length).toBe(1)
})

/** A page that adds a domain when it is opened. */
function attack(kind: string, url: string): string {
  const form = `<form method=post action="${url}"><input name=name value=evil.test></form>
    <script>document.forms[0].submit()</script>`
  if (kind === 'form') return form
  const body = `new URLSearchParams({ name: 'evil.test' })`
  const options = `{ method: 'POST', mode: 'no-cors', credentials: 'include', body: ${body} }`
  return `<script>fetch('${url}', ${options}).catch(() => {})</script>`
}
