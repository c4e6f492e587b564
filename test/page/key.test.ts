import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPages } from '../kit/page/pages.ts'
import { enterKey, makeRequests } from '../kit/page/views/key.ts'
import { program } from '../kit/programs/programs.ts'
import { type KeyRing, openKeyRing, type TestKey } from '../kit/shop/keys.ts'
import { FAKE_SHOP } from '../kit/shop/shop-client.ts'
import { waitUntil } from '../kit/wait-until.ts'

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
  await makeRequests({ app: app() }, key, count)
  return key
}

test('used and remaining requests are shown in words, numbers and a bar, also those since; if the site is unreachable, the last usage stays', async () => {
  allow({ complaint: /ERR_FAILED/ })
  const key = await used(3, { requests: 2_000, perDay: 50, months: 12 })
  const page = await showUsage(key)
  await page.getByText('Active', { exact: true }).waitFor()
  await page.getByRole('heading', { name: 'Starter' }).waitFor()
  for (const [name, label, most] of [
    ['Total', '3 of 2,000 used, 1,997 left', '2000'],
    ['Today', '3 of 50 used, 47 left', '50'],
  ] as const) {
    const meter = page.getByRole('meter', { name })
    await expect.poll(() => meter.getAttribute('aria-valuetext')).toBe(label)
    await expect.poll(() => meter.getAttribute('aria-valuenow')).toBe('3')
    await expect.poll(() => meter.getAttribute('aria-valuemax')).toBe(most)
    await page.getByText(label).waitFor()
  }
  const share = `document.querySelectorAll('[role=meter]')[1].firstElementChild.style.width`
  await expect.poll(() => page.evaluate(share)).toBe('6%')

  await makeRequests({ app: app() }, key, 2)
  const refresh = page.getByRole('button', { name: 'Refresh' })
  await refresh.click()
  await page.getByText('5 of 2,000 used').waitFor()
  await page.route('**/usage', (route) => route.abort())
  await refresh.click()
  await page.getByText('Could not reach the server').waitFor()
  await page.getByText('5 of 2,000 used').waitFor()
})

test('domains are shown only if the operator allows them, and a daily limit only if the plan has one', async () => {
  const page = await showUsage(await ring.issue())
  expect(await page.getByText('Daily limit resets').count()).toBe(0)
  expect(await page.getByRole('heading', { name: 'Your domains' }).count()).toBe(0)
})

test('the key is stored for this tab only, and hidden in the sample code until it is revealed; the focus moves to the content that replaces the form, and back', async () => {
  const key = await ring.issue()
  const page = await showUsage(key)
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('plan')
  const text = async () => (await page.getByRole('tabpanel').textContent()) ?? ''
  expect(await text()).not.toContain(key.secret)
  await page.getByRole('button', { name: 'Show secret' }).click()
  await expect.poll(() => text()).toContain(key.secret)
  await page.getByRole('button', { name: 'Hide secret' }).click()
  await expect.poll(() => text()).not.toContain(key.secret)
  await page.getByRole('tab', { name: 'curl' }).press('ArrowRight')
  await expect
    .poll(() => page.getByRole('tab', { name: 'JavaScript' }).getAttribute('aria-selected'))
    .toBe('true')
  await expect.poll(() => text()).toMatch(/await fetch/)

  await page.reload()
  await page.getByText('Last 30 days').waitFor()
  expect(String(await page.evaluate('JSON.stringify(localStorage)'))).not.toContain('mf_')
  const other = await newTab(page, '/key')
  await other.getByLabel('Your key').waitFor()
  expect(await other.getByLabel('Your key').inputValue()).toBe('')

  await page.getByRole('button', { name: 'Forget this key' }).click()
  await page.getByLabel('Your key').waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('key')
  await expect.poll(() => page.evaluate('sessionStorage.length')).toBe(0)
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
    await expect
      .poll(() => page.evaluate('document.activeElement.textContent'))
      .toBe('Roll this key')
    await button.click()
    await dialog.getByRole('button', { name: 'Roll key' }).click()
    const region = page.getByRole('region', { name: 'This is your new key.' })
    await region.getByText('The old key works until').waitFor()
    const secret = (await region.locator('.key-shown').textContent()) ?? ''
    expect(secret).toMatch(/^mf_live_/)
    expect(secret).not.toBe(key.secret)
    await waitUntil(async () => await region.evaluate((one) => one.matches(':focus')))
    await region.getByRole('button', { name: 'Copy: your key' }).click()
    await region.getByRole('button', { name: 'Copied: your key' }).waitFor()
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(secret)
    expect([await usage(key.secret), await usage(secret)]).toStrictEqual([200, 200])
    // The new secret replaces the old one in this tab, and is not stored permanently.
    await page.reload()
    await page.getByText('2 of 1,000 used').waitFor()
    expect(await region.count()).toBe(0)
    expect(String(await page.evaluate('JSON.stringify(localStorage)'))).not.toContain('mf_')
    await expect
      .poll(async () => String(await page.evaluate('JSON.stringify(sessionStorage)')))
      .toContain(secret)
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
    expect(await usage(key.secret)).toBe(200)
  })
})

describe('the last 30 days', () => {
  test('are a plot with their total, with the count of the day below the pointer, and a table with the same numbers', async () => {
    const key = await used(4)
    app().moveClock(DAY_SECONDS)
    await makeRequests({ app: app() }, key, 2)
    const page = await showUsage(key)
    const legend = page.locator('.plot-legend')
    await expect.poll(() => legend.innerText()).toMatch(/^Total\s+Requests\s+6$/)
    const steps = page.locator('.plot .u-over')
    const { width } = (await steps.boundingBox()) ?? { width: 0 }
    for (const [day, shown] of [
      [28, /^\w+ \d+\s+Requests\s+4$/],
      [29, /\s2$/],
      [0, /\s0$/],
    ] as const) {
      await steps.hover({ position: { x: (width * (day + 0.5)) / 30, y: 20 } })
      await expect.poll(() => legend.innerText()).toMatch(shown)
    }

    await page.getByText('Show as table').click()
    const table = page.locator('.plot-table tbody tr')
    await table.nth(30).waitFor()
    const rows = await table.allInnerTexts()
    const numbers = rows.map((row) => row.replace(/^.*\s/s, ''))
    expect(rows).toHaveLength(31)
    expect(numbers.slice(0, 4)).toEqual(['6', '2', '4', '0'])
  })

  test('fill the width of the page, in the colours of its theme, also after both have changed', async () => {
    allow({ complaint: /willReadFrequently/ })
    const page = await showUsage(await used(2), { viewport: { width: 700, height: 900 } })
    const canvas = page.locator('.plot canvas')
    const look = async () => {
      const { width = 0 } = (await canvas.boundingBox()) ?? {}
      const room = await page.locator('.plot').evaluate(({ clientWidth }) => clientWidth)
      return { isFull: width === room, room, colour: await page.evaluate(LINE_COLOUR) }
    }
    const swatch = () => page.evaluate(SWATCH_COLOUR)
    await canvas.waitFor()
    await expect.poll(look).toMatchObject({ isFull: true, colour: await swatch() })
    const before = await look()
    await page.setViewportSize({ width: 400, height: 900 })
    await page.getByLabel('Theme').selectOption('dark')
    await expect.poll(swatch).not.toBe(before.colour)
    await expect.poll(async () => (await look()).room).toBeLessThan(before.room)
    await expect.poll(look).toMatchObject({ isFull: true, colour: await swatch() })
  })

  test('are visible with forced colors', async () => {
    const page = await showUsage(await used(2), { forcedColors: 'active' })
    const background = await page.evaluate('getComputedStyle(document.body).backgroundColor')
    const bar = await page.evaluate(
      `getComputedStyle(document.querySelector('.bar > div')).backgroundColor`,
    )
    expect(bar).not.toBe(background)
    await page.locator('.plot canvas').waitFor()
    const swatch = await page.evaluate(SWATCH_COLOUR)
    expect(swatch).not.toBe(background)
    await expect.poll(() => page.evaluate(LINE_COLOUR)).toBe(swatch)
  })
})

const SWATCH_COLOUR = `getComputedStyle(document.querySelector('.swatch')).backgroundColor`

/** Run in the page: the most frequent opaque colour of the plot that is not grey. */
const LINE_COLOUR = `(() => {
  const canvas = document.querySelector('.plot canvas')
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  const counts = new Map()
  for (let at = 0; at < data.length; at += 4) {
    const [red, green, blue, alpha] = data.subarray(at, at + 4)
    if (alpha < 255 || Math.max(red, green, blue) - Math.min(red, green, blue) < 40) continue
    const colour = 'rgb(' + [red, green, blue].join(', ') + ')'
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0] ?? ''
})()`

test('the reason why a key no longer works is shown: used up, used up for today, suspended, expired', async () => {
  const page = await visit('/key')
  for (const [key, words] of [
    [await used(2, { requests: 2 }), 'All requests in this plan have been used'],
    [await used(2, { perDay: 2 }), 'All of today’s requests have been used'],
    [await ring.issueRefunded(), 'This key is suspended'],
  ] as const) {
    await enterKey(page, key.secret)
    await page.getByText(words).waitFor()
    expect(await page.getByText('Active', { exact: true }).isVisible()).toBe(false)
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
  await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true')
  await expect.poll(() => field.inputValue()).toBe('mf_live_nothing')

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
      expect(text, name).toContain(app().url)
      const { stdout } = await promisify(execFile)(...run(text))
      expect(stdout, name).toMatch(/Your code is 123456/)
      expect(stdout, name).not.toMatch(/for another/)
    }
    expect(await ring.used(key)).toBe(3)
  })
})

test('without JavaScript /key shows how to use the key from a terminal', async () => {
  const page = await visit('/key', { javaScriptEnabled: false })
  const words = await page.locator('noscript').innerText()
  expect(words).toContain(`curl -H 'APIKey: KEY' ${app().url}/usage`)
})
