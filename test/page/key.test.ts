import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, test, vi } from 'vitest'
import { type KeyRing, openKeyRing, type TestKey } from '../support/keys.ts'
import { program } from '../support/programs.ts'
import { FAKE_SHOP } from '../support/shop-client.ts'
import { openPages } from './support/pages.ts'
import { enterKey, spend } from './views/key.ts'

const { app, visit, newTab, allow } = openPages(FAKE_SHOP)
let ring: KeyRing
beforeAll(async () => {
  ring = await openKeyRing(app())
})
afterAll(() => ring.close())

const DAY_SECONDS = 86_400

async function showUsage(key: TestKey, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await visit('/key', options)
  await enterKey(page, key.secret)
  await page.getByText('Last 30 days').waitFor()
  return page
}

async function used(count: number, figures: Parameters<typeof ring.issue>[0] = {}) {
  const key = await ring.issue(figures)
  await spend({ app: app() }, key, count)
  return key
}

test('used and remaining requests are shown in words, numbers and a bar, also those since; if the site is unreachable, the last usage stays', async () => {
  allow({ complaint: /ERR_FAILED/ })
  const key = await used(3, { requests: 2_000, perDay: 50, months: 12 })
  const page = await showUsage(key)
  assert.ok(await page.getByText('Active', { exact: true }).isVisible())
  assert.ok(await page.getByRole('heading', { name: 'Starter' }).isVisible())
  for (const [name, label, most] of [
    ['Total', '3 of 2,000 used, 1,997 left', '2000'],
    ['Today', '3 of 50 used, 47 left', '50'],
  ] as const) {
    const meter = page.getByRole('meter', { name })
    assert.equal(await meter.getAttribute('aria-valuetext'), label)
    assert.equal(await meter.getAttribute('aria-valuenow'), '3')
    assert.equal(await meter.getAttribute('aria-valuemax'), most)
    assert.ok(await page.getByText(label).isVisible())
  }
  const share = `document.querySelectorAll('[role=meter]')[1].firstElementChild.style.width`
  assert.equal(await page.evaluate(share), '6%')

  await spend({ app: app() }, key, 2)
  const refresh = page.getByRole('button', { name: 'Refresh' })
  await refresh.click()
  await page.getByText('5 of 2,000 used').waitFor()
  await page.route('**/usage', (route) => route.abort())
  await refresh.click()
  await page.getByText('Could not reach the server').waitFor()
  assert.ok(await page.getByText('5 of 2,000 used').isVisible())
})

test('the key is stored for this tab only, and hidden in the sample code until it is revealed; the focus moves to the content that replaces the form, and back', async () => {
  const key = await ring.issue()
  const page = await showUsage(key)
  assert.equal(await page.evaluate('document.activeElement.id'), 'plan')
  const text = async () => (await page.getByRole('tabpanel').textContent()) ?? ''
  assert.ok(!(await text()).includes(key.secret))
  await page.getByRole('button', { name: 'Show secret' }).click()
  assert.ok((await text()).includes(key.secret))
  await page.getByRole('button', { name: 'Hide secret' }).click()
  assert.ok(!(await text()).includes(key.secret))
  await page.getByRole('tab', { name: 'curl' }).press('ArrowRight')
  assert.equal(
    await page.getByRole('tab', { name: 'JavaScript' }).getAttribute('aria-selected'),
    'true',
  )
  assert.match(await text(), /await fetch/)

  await page.reload()
  await page.getByText('Last 30 days').waitFor()
  assert.ok(!String(await page.evaluate('JSON.stringify(localStorage)')).includes('mf_'))
  const other = await newTab(page, '/key')
  await other.getByLabel('Your key').waitFor()
  assert.equal(await other.getByLabel('Your key').inputValue(), '')

  await page.getByRole('button', { name: 'Forget this key' }).click()
  await page.getByLabel('Your key').waitFor()
  assert.equal(await page.evaluate('document.activeElement.id'), 'key')
  assert.equal(await page.evaluate('sessionStorage.length'), 0)
})

describe('a key', () => {
  const usage = async (secret: string) =>
    (await fetch(`${app().url}/usage`, { headers: { apikey: secret } })).status

  test('is rotated after a confirmation: the new secret is shown, and both work', async () => {
    const key = await used(2)
    const page = await showUsage(key, { permissions: ['clipboard-read', 'clipboard-write'] })
    const button = page.getByRole('button', { name: 'Roll this key' })
    await button.click()
    const dialog = page.getByRole('dialog', { name: 'Roll this key?' })
    await dialog.getByText('The current key will keep working for 24 hours').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Roll this key')
    await button.click()
    await dialog.getByRole('button', { name: 'Roll key' }).click()
    const region = page.getByRole('region', { name: 'This is your new key.' })
    await region.getByText('The old key works until').waitFor()
    const secret = (await region.locator('.key-shown').textContent()) ?? ''
    assert.match(secret, /^mf_live_/)
    assert.notEqual(secret, key.secret)
    await vi.waitUntil(async () => await region.evaluate((one) => one.matches(':focus')), 5_000)
    await region.getByRole('button', { name: 'Copy: your key' }).click()
    await region.getByRole('button', { name: 'Copied: your key' }).waitFor()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), secret)
    assert.deepEqual([await usage(key.secret), await usage(secret)], [200, 200])
    // The new secret replaces the old one in this tab, and is not stored permanently.
    await page.reload()
    await page.getByText('2 of 1,000 used').waitFor()
    assert.equal(await region.count(), 0)
    assert.ok(!String(await page.evaluate('JSON.stringify(localStorage)')).includes('mf_'))
    assert.ok(String(await page.evaluate('JSON.stringify(sessionStorage)')).includes(secret))
  })

  test('that was rotated elsewhere meanwhile is not rotated again', async () => {
    allow({ complaint: /409/ })
    const key = await ring.issue()
    const page = await showUsage(key)
    const headers = { apikey: key.secret }
    await fetch(`${app().url}/api/roll-key`, { method: 'POST', headers })
    await page.getByRole('button', { name: 'Roll this key' }).click()
    await page.getByRole('button', { name: 'Roll key' }).click()
    await page
      .getByRole('alert')
      .getByText('This key was already rolled less than 24 hours ago')
      .waitFor()
    assert.equal(await usage(key.secret), 200)
  })
})

describe('the last 30 days', () => {
  test('are a chart usable by keyboard and pointer, and a table with the same numbers', async () => {
    const key = await used(4)
    app().moveClock(DAY_SECONDS)
    await spend({ app: app() }, key, 2)
    const page = await showUsage(key)
    const plot = page.getByRole('slider')
    assert.match((await plot.getAttribute('aria-valuetext')) ?? '', /: 2 requests$/)
    await plot.press('ArrowLeft')
    assert.match((await plot.getAttribute('aria-valuetext')) ?? '', /: 4 requests$/)
    await plot.press('Home')
    assert.equal(await plot.getAttribute('aria-valuenow'), '0')
    assert.match((await plot.getAttribute('aria-valuetext')) ?? '', /: 0 requests$/)
    await plot.press('End')
    assert.equal(await plot.getAttribute('aria-valuenow'), '29')

    await page.getByText('Show as table').click()
    const rows = await page.locator('table.days tbody tr').allInnerTexts()
    const numbers = rows.map((row) => row.replace(/^.*\s/s, ''))
    assert.equal(rows.length, 30)
    assert.deepEqual(numbers.slice(0, 3), ['2', '4', '0'])

    const days = page.locator('.plot svg g')
    assert.equal(await days.count(), 30)
    await days.nth(3).hover()
    assert.equal(await plot.getAttribute('aria-valuenow'), '3')
    assert.match((await days.nth(28).locator('title').textContent()) ?? '', /: 4 requests$/)

    // Heights are proportional: the busiest day reaches the top.
    const heights = await page.evaluate(
      `[...document.querySelectorAll('.plot .amount')].map((bar) => bar.getAttribute('height'))`,
    )
    assert.deepEqual((heights as string[]).slice(-3), ['0', '100', '50'])
  })

  test('are visible with forced colors', async () => {
    const page = await showUsage(await used(2), { forcedColors: 'active' })
    const [bar, plot] = (await page.evaluate(
      `['.bar > div', '.plot .amount'].map((name) => getComputedStyle(document.querySelectorAll(name)[0]))
        .map(({ backgroundColor, fill }, index) => index === 0 ? backgroundColor : fill)`,
    )) as string[]
    const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
    assert.notEqual(bar, background)
    assert.notEqual(plot, background)
  })
})

test('the reason why a key no longer works is shown: used up, used up for today, suspended, expired', async () => {
  const page = await visit('/key')
  for (const [key, words] of [
    [await used(2, { requests: 2 }), 'All requests in this plan have been used'],
    [await used(2, { perDay: 2 }), 'All of today’s requests have been used'],
    [await ring.issueRefunded(), 'This key is suspended'],
  ] as const) {
    await enterKey(page, key.secret)
    await page.getByText(words).waitFor()
    assert.equal(await page.getByText('Active', { exact: true }).isVisible(), false)
    await page.getByRole('button', { name: 'Forget this key' }).click()
  }
  const expired = await ring.issue({ months: 1 })
  app().moveClock(32 * DAY_SECONDS)
  await enterKey(page, expired.secret)
  await page.getByText('This plan has expired').waitFor()
  await page.getByRole('link', { name: 'See plans' }).click()
  await page.waitForURL('**/pricing')
})

test('a failed lookup asks for a key if there is none, marks a wrong one as invalid, and shows how long to wait over the rate limit', async () => {
  allow({ complaint: /401|429/ })
  const page = await visit('/key')
  const field = page.getByLabel('Your key')
  const wrong = page.getByText('Unknown or revoked key')
  await page.getByRole('button', { name: 'Show usage' }).click()
  await page.getByText('Enter a key').waitFor()
  await enterKey(page, 'mf_live_nothing')
  await wrong.waitFor()
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
  assert.equal(await field.inputValue(), 'mf_live_nothing')

  const json = { status: 'error', message: 'Too many.', code: 'rate_limited', request_id: 'x' }
  await page.route('**/usage', (route) =>
    route.fulfill({ status: 429, headers: { 'retry-after': '7' }, json }),
  )
  await enterKey(page, 'mf_live_x')
  await page.getByText('Try again in 7 seconds').waitFor()
  // These characters are not allowed in a header, so this one is not sent.
  await enterKey(page, 'mf_live_€')
  await wrong.waitFor()
})

describe('the sample code', () => {
  const programs: Record<string, (text: string) => [string, string[]]> = {
    curl: (text) => ['bash', ['-c', text.replace('curl', `${program('curl')} -s`)]],
    JavaScript: (text) => [process.execPath, ['--input-type=module', '-e', text]],
    Python: (text) => [program('python3'), ['-c', text]],
  }

  test('runs as copied, with the given key and address', async () => {
    const key = await ring.issue()
    await app().mail('sample@pool.test')
    await app().mail('other@pool.test', 'Subject: for another\r\n\r\nno\r\n')
    const page = await showUsage(key, { permissions: ['clipboard-read', 'clipboard-write'] })
    await page.getByLabel('Filter by address').fill('sample@pool.test')
    for (const [name, run] of Object.entries(programs)) {
      await page.getByRole('tab', { name }).click()
      await page.getByRole('button', { name: 'Copy: sample code' }).click()
      await page.getByRole('button', { name: 'Copied: sample code' }).waitFor()
      const text = String(await page.evaluate('navigator.clipboard.readText()'))
      assert.ok(text.includes(app().url), name)
      const { stdout } = await promisify(execFile)(...run(text))
      assert.match(stdout, /Your code is 123456/, name)
      assert.doesNotMatch(stdout, /for another/, name)
    }
    assert.equal(await ring.used(key), 3)
  })
})

test('without JavaScript /key shows how to use the key from a terminal', async () => {
  const page = await visit('/key', { javaScriptEnabled: false })
  const words = await page.locator('noscript').innerText()
  assert.ok(words.includes(`curl -H 'APIKey: KEY' ${app().url}/usage`))
})
