import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { openPages } from '../kit/page/pages.ts'
import { claim, createOrder, FAKE_SHOP, type Order, payOrder } from '../kit/shop/shop-client.ts'

const { app, visit, allow } = openPages(FAKE_SHOP)

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })

async function usage(key: string): Promise<number> {
  return (await fetch(`${app().url}/usage`, { headers: { apikey: key } })).status
}

async function shownKey(page: Page): Promise<string> {
  await page.getByText('This is your key').waitFor()
  const key = (await page.locator('.order .key-shown').textContent()) ?? ''
  expect(key).toMatch(/^mf_test_/)
  return key
}

/** Clicks from the plans to the payment page. */
async function buy(page: Page, name: string, email = ''): Promise<void> {
  if (email) await page.getByLabel('Email').fill(email)
  await button(page, `Buy ${name}`).click()
  await page.waitForURL('**/pay/**')
}

async function paidOrder(): Promise<Order> {
  const made = await createOrder(app().url)
  await payOrder(app().url, made)
  return made
}

test('a plan can be bought with clicks, the private link leads back to the order, and the key works', async () => {
  const page = await visit('/pricing')
  await buy(page, 'Business', 'ann@buyer.example')
  await page.getByText('This is a test shop').waitFor()
  await button(page, 'Pay $45').click()
  await page.waitForURL('**/orders/**')
  await button(page, 'Show my key').waitFor()
  const link = await page.getByRole('link', { name: 'Private link' }).getAttribute('href')
  const elsewhere = await visit(`${new URL(page.url()).pathname}${link}`)
  await button(elsewhere, 'Show my key').waitFor()

  await button(page, 'Show my key').click()
  const key = await shownKey(page)
  expect(await usage(key)).toBe(200)
  await expect.poll(() => page.evaluate('document.activeElement.className')).toBe('stack')
  await expect
    .poll(async () =>
      (await page.getByRole('tabpanel').textContent())?.includes(`${app().url}/emails`),
    )
    .toBeTruthy()

  // The first call works from here, and "Your key" knows the key.
  await button(page, 'Send').click()
  await page.getByText('"emails": []').waitFor()
  await page.locator('main').getByRole('link', { name: 'Your key' }).click()
  await page.getByText('1 of 100,000 used').waitFor()
})

test('the link of an order opens it and is removed from the address bar; the key can be copied and downloaded', async () => {
  const { id, secret } = await paidOrder()
  const page = await visit(`/orders/${id}#${secret}`, {
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  await button(page, 'Show my key').waitFor()
  expect(page.url()).toBe(`${app().url}/orders/${id}`)
  await page.reload()
  await button(page, 'Show my key').click()
  const key = await shownKey(page)
  await button(page, 'Copy: your key').click()
  await button(page, 'Copied: your key').waitFor()
  await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(key)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ])
  expect(download.suggestedFilename()).toBe(`mayfly-key-${id}.txt`)
  expect(readFileSync(await download.path(), 'utf8')).toBe(`${key}\n`)
})

test('the key is selected for manual copying if the browser refuses to copy', async () => {
  const { id, secret } = await paidOrder()
  const page = await visit(`/orders/${id}#${secret}`)
  await page.evaluate(`
    Object.defineProperty(navigator, 'clipboard', { value: undefined })
    document.execCommand = () => false
  `)
  await button(page, 'Show my key').click()
  const key = await shownKey(page)
  await button(page, 'Copy: your key').click()
  await button(page, 'Selected – press Ctrl+C').waitFor()
  await expect.poll(() => page.evaluate('String(getSelection())')).toBe(key)
})

test('a payment that is declined or never arrives shows no key; one that is pending is shown as paid as soon as it arrives, without a reload', async () => {
  const page = await visit('/pricing')
  for (const clicks of [['Decline'], ['Pay later', 'Fail']]) {
    await buy(page, 'Starter')
    const payUrl = page.url()
    for (const click of clicks) {
      await page.goto(payUrl)
      await button(page, click).click()
      await page.waitForURL('**/orders/**')
    }
    await page.getByText('Payment failed', { exact: true }).waitFor()
    expect(await button(page, 'Show my key').isVisible()).toBe(false)
    await page.getByRole('link', { name: 'Choose another plan' }).click()
    await page.waitForURL('**/pricing')
  }

  await buy(page, 'Starter')
  await button(page, 'Pay later').click()
  await page.getByText('Payment pending').waitFor()
  const id = /ord_\w+/.exec(page.url())?.[0] ?? ''
  await payOrder(app().url, { id, secret: '', payUrl: '' })
  await button(page, 'Show my key').waitFor()
  await page.getByText('Paid', { exact: true }).waitFor()
})

test('plans that failed to load are requested again, an invalid email address is not sent, a failed order request is retried as the same order, and a page from the back/forward cache can start another', async () => {
  allow({ complaint: /ERR_FAILED/ })
  const page = await visit('/favicon.svg')
  await page.route('**/api/plans', (route) => route.abort(), { times: 1 })
  await page.goto(`${app().url}/pricing`)
  await button(page, 'Try again').click()
  await button(page, 'Buy Starter').waitFor()

  const keys: (string | undefined)[] = []
  let cut = true
  await page.route('**/api/checkout', async (route) => {
    keys.push(route.request().headers()['idempotency-key'])
    if (cut) await route.abort()
    else await route.continue()
  })
  await page.getByLabel('Email').fill('ann')
  await button(page, 'Buy Starter').click()
  await expect
    .poll(() => page.evaluate(`document.querySelector('#email:invalid') !== null`))
    .toBe(true)
  expect(keys).toStrictEqual([])

  await page.getByLabel('Email').fill('')
  await button(page, 'Buy Starter').click()
  await page.getByText('Could not reach the server').waitFor()
  cut = false
  // The navigation gets a 204, so the page stays as it was when it was left.
  await page.route('**/pay/**', (route) => route.fulfill({ status: 204 }))
  await Promise.all([page.waitForRequest('**/pay/**'), button(page, 'Buy Starter').click()])
  expect(keys.length).toBe(2)
  expect(keys[0]).toBeTruthy()
  expect(keys[0]).toBe(keys[1])
  await page.locator('button:disabled', { hasText: 'Buy Business' }).waitFor()
  await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
  await page.locator('button:enabled', { hasText: 'Buy Business' }).waitFor()
})

describe('returning to an order', () => {
  test('without its link, the claim secret can be entered; a wrong one is reported, and another can be entered', async () => {
    // The browser logs every 404 on its console.
    allow({ complaint: /404/ })
    const { id, secret } = await paidOrder()
    const page = await visit(`/orders/${id}`)
    await page.getByText('Open this order with its private link.').waitFor()
    // It cannot be sent to the server: these characters are not allowed in a header.
    await page.getByLabel('Claim secret').fill('mf_live_€')
    await button(page, 'Open order').click()
    await page.getByText('Order not found').waitFor()

    await page.evaluate(`location.hash = '#${'x'.repeat(43)}'`)
    const [response] = await Promise.all([page.waitForResponse('**/api/orders/*'), page.reload()])
    expect(response.status()).toBe(404)
    await page.getByText('Order not found').waitFor()
    await page.getByLabel('Claim secret').fill(` ${secret} `)
    await button(page, 'Open order').click()
    await button(page, 'Show my key').waitFor()
  })

  test('after the key was shown, offers a new key and explains it', async () => {
    const made = await paidOrder()
    const oldKey = String((await claim(app().url, made)).body['key'])
    const page = await visit(`/orders/${made.id}#${made.secret}`)
    await page.getByText('revokes it immediately').waitFor()
    const createKey = button(page, 'Create a new key')
    expect(await createKey.getAttribute('class')).toBe('plain')
    const dialog = page.getByRole('dialog', { name: 'Replace your key?' })
    for (const leave of ['Keep the old key', 'Close']) {
      await createKey.click()
      await dialog.getByText('The old key will stop working immediately.').waitFor()
      await dialog.getByText('both keys will work for 24 hours').waitFor()
      await expect.poll(() => dialog.getByRole('link').getAttribute('href')).toBe('/key')
      await dialog.getByRole('button', { name: leave }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.waitForFunction(`document.activeElement.textContent === 'Create a new key'`)
    }
    expect(await usage(oldKey)).toBe(200)
    await createKey.click()
    await dialog.getByRole('button', { name: 'Create a new key' }).click()
    const key = await shownKey(page)
    await expect.poll(() => page.evaluate('document.activeElement.className')).toBe('stack')
    expect([await usage(oldKey), await usage(key)]).toStrictEqual([401, 200])
  })

  test('after the site was unreachable, requests it again', async () => {
    allow({ complaint: /ERR_FAILED/ })
    const { id, secret } = await paidOrder()
    const page = await visit('/favicon.svg')
    await page.route('**/api/orders/**', (route) => route.abort(), { times: 1 })
    await page.goto(`${app().url}/orders/${id}#${secret}`)
    await page.getByText('Could not reach the server').waitFor()
    await button(page, 'Show my key').waitFor()
  })
})

test('a browser without storage is not sent to the payment page, which could not show the key afterwards, but can open an order by its link', async () => {
  const { id, secret } = await paidOrder()
  const page = await visit('/favicon.svg')
  await page.addInitScript(
    `Object.defineProperty(window, 'sessionStorage', { get() { throw new Error('blocked') } })`,
  )
  await page.goto(`${app().url}/pricing`)
  await button(page, 'Buy Starter').click()
  await page.getByText('Your browser blocks storage').waitFor()
  expect(new URL(page.url()).pathname).toBe('/pricing')

  await page.goto(`${app().url}/orders/${id}#${secret}`)
  await button(page, 'Show my key').click()
  expect(await usage(await shownKey(page))).toBe(200)
})

test('without JavaScript the pages give instructions, and the test shop accepts payment', async () => {
  const made = await createOrder(app().url)
  const page = await visit('/pricing', { javaScriptEnabled: false })
  expect(await page.locator('noscript').innerText()).toMatch(/curl -X POST/)
  expect(await button(page, 'Buy Starter').isDisabled()).toBeTruthy()
  await page.goto(made.payUrl)
  await button(page, 'Pay $5').click()
  await page.waitForURL('**/orders/**')
  expect(await page.locator('noscript').innerText()).toMatch(/Claim-Secret/)
  expect((await claim(app().url, made)).status).toBe(200)
})
