import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest'
import { openBrowser, SCHEMES, SCREENS } from './browser.ts'
import { checkContrast } from './contrast.ts'
import { type House, openHouse } from './house.ts'
import { claim, clickPay, FAKE_SHOP, order } from './shop-client.ts'

let house: House
let browser: Browser
beforeAll(async () => {
  house = await openHouse({ env: FAKE_SHOP })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await house.stop()
})

let context: BrowserContext
let asked: string[]
let complaints: string[]
let secrets: string[]
beforeEach(() => {
  asked = []
  complaints = []
  secrets = []
})
// Whatever was done: nobody else was asked, no address held a secret, and the browser has nothing to say.
afterEach(async () => {
  await context.close()
  assert.deepEqual(complaints, [])
  assert.ok(asked.length > 0)
  for (const url of asked) {
    assert.equal(new URL(url).origin, house.url)
    for (const secret of secrets) assert.ok(!url.includes(secret))
  }
})

async function openPage(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
  context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  page.on('request', (request) => {
    // What follows the # stays in the browser; this is what the server sees.
    asked.push(request.url().replace(/#.*/, ''))
    secrets.push(...[request.headers()['claim-secret'] ?? []].flat())
  })
  page.on('pageerror', (fault) => complaints.push(fault.message))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  return page
}

const button = (page: Page, name: string) => page.getByRole('button', { name })

async function usage(key: string): Promise<number> {
  return (await fetch(`${house.url}/usage`, { headers: { apikey: key } })).status
}

async function shownKey(page: Page): Promise<string> {
  await page.getByText('This is your key').waitFor()
  const key = await page.locator('#key').textContent()
  assert.match(key ?? '', /^mf_test_/)
  secrets.push(key ?? '')
  return key ?? ''
}

/** From the plans to the pay page, by clicking. */
async function buy(page: Page, name: string, email = ''): Promise<void> {
  await page.goto(`${house.url}/pricing`)
  if (email) await page.getByLabel('E-mail').fill(email)
  await button(page, `Buy ${name}`).click()
  await page.waitForURL('**/pay/**')
}

test('a plan is bought by clicking, and its key opens', async () => {
  const page = await openPage()
  await buy(page, 'Business', 'ann@buyer.example')
  await page.getByText('This is a test shop').waitFor()
  await button(page, 'Pay 45 USD').click()
  await page.waitForURL('**/orders/**')
  await button(page, 'Show my key').click()
  const key = await shownKey(page)
  assert.equal(await usage(key), 200)
  assert.ok((await page.locator('#line').textContent())?.includes(`${house.url}/emails`))
})

test('the key can be copied and downloaded', async () => {
  const page = await openPage({ permissions: ['clipboard-read', 'clipboard-write'] })
  const made = await order(house.url)
  await clickPay(house.url, made)
  await page.goto(`${house.url}/orders/${made.id}#${made.secret}`)
  await button(page, 'Show my key').click()
  const key = await shownKey(page)
  await button(page, 'Copy').click()
  await button(page, 'Copied').waitFor()
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), key)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download' }).click(),
  ])
  assert.equal(readFileSync(await download.path(), 'utf8'), `${key}\n`)
})

test('what is under way is shown as soon as it has arrived, by itself', async () => {
  const page = await openPage()
  await buy(page, 'Starter')
  await button(page, 'Pay later').click()
  await page.getByText('Payment under way').waitFor()
  const id = /ord_\w+/.exec(page.url())?.[0] ?? ''
  await clickPay(house.url, { id, secret: '', payUrl: '' })
  await button(page, 'Show my key').waitFor()
  assert.ok(await page.getByText('Paid', { exact: true }).isVisible())
})

for (const [name, clicks, words] of [
  ['declined', ['Decline'], 'Payment failed'],
  ['that never arrives', ['Pay later', 'It fails'], 'Payment failed'],
] as const) {
  test(`a payment ${name} shows no key`, async () => {
    const page = await openPage()
    await buy(page, 'Starter')
    const payUrl = page.url()
    for (const click of clicks) {
      await page.goto(payUrl)
      await button(page, click).click()
      await page.waitForURL('**/orders/**')
    }
    await page.getByText(words, { exact: true }).waitFor()
    assert.equal(await button(page, 'Show my key').isVisible(), false)
  })
}

describe('coming back', () => {
  test('by a link the order opens, and the secret leaves the address bar', async () => {
    const made = await order(house.url)
    await clickPay(house.url, made)
    secrets.push(made.secret)
    const page = await openPage()
    await page.goto(`${house.url}/orders/${made.id}#${made.secret}`)
    await button(page, 'Show my key').waitFor()
    assert.equal(page.url(), `${house.url}/orders/${made.id}`)
    await page.reload()
    await button(page, 'Show my key').waitFor()
  })

  test('with the private link of the page itself', async () => {
    const page = await openPage()
    await buy(page, 'Starter')
    await button(page, 'Pay 5 USD').click()
    await button(page, 'Show my key').waitFor()
    const link = await page.getByRole('link', { name: 'this private link' }).getAttribute('href')
    const orderUrl = page.url()
    await context.close()
    const other = await openPage()
    await other.goto(`${orderUrl}${link}`)
    await button(other, 'Show my key').waitFor()
  })

  test('without it, the claim secret can be given', async () => {
    const made = await order(house.url)
    await clickPay(house.url, made)
    const page = await openPage()
    await page.goto(`${house.url}/orders/${made.id}`)
    await page.getByText('does not know the claim secret').waitFor()
    await page.getByLabel('Claim secret').fill(` ${made.secret} `)
    await button(page, 'Open the order').click()
    await button(page, 'Show my key').waitFor()
  })

  test('after the key was shown, a new one is offered as what it is', async () => {
    const made = await order(house.url)
    await clickPay(house.url, made)
    const former = String((await claim(house.url, made)).body['key'])
    const page = await openPage()
    await page.goto(`${house.url}/orders/${made.id}#${made.secret}`)
    await page.getByText('ends the former').waitFor()
    await button(page, 'Make a new key').click()
    const key = await shownKey(page)
    assert.deepEqual([await usage(former), await usage(key)], [401, 200])
  })
})

test('a wrong claim secret is told so, and another can be given', async () => {
  const made = await order(house.url)
  const page = await openPage()
  await page.goto(`${house.url}/orders/${made.id}#${'x'.repeat(43)}`)
  await page.getByText('There is no such order').waitFor()
  // The browser tells of every 404 on its console.
  complaints = complaints.filter((text) => !text.includes('404'))
  await page.getByLabel('Claim secret').fill(made.secret)
  await button(page, 'Open the order').click()
  await page.getByText('Waiting for the payment').waitFor()
})

test('an order that failed on the way is tried again as the same order', async () => {
  const page = await openPage()
  const keys: (string | undefined)[] = []
  let cut = true
  await page.route('**/api/checkout', async (route) => {
    keys.push(route.request().headers()['idempotency-key'])
    if (cut) await route.abort()
    else await route.continue()
  })
  await page.goto(`${house.url}/pricing`)
  await button(page, 'Buy Starter').click()
  await page.getByText('could not be reached').waitFor()
  complaints = complaints.filter((text) => !text.includes('ERR_FAILED'))
  cut = false
  await button(page, 'Buy Starter').click()
  await page.waitForURL('**/pay/**')
  assert.equal(keys.length, 2)
  assert.ok(keys[0])
  assert.equal(keys[0], keys[1])
})

describe('a browser that keeps nothing for the site', () => {
  async function openForgetful(): Promise<Page> {
    const page = await openPage()
    await page.addInitScript(
      `Object.defineProperty(window, 'sessionStorage', { get() { throw new Error('blocked') } })`,
    )
    return page
  }

  test('is not sent to pay for what it could not show', async () => {
    const page = await openForgetful()
    await page.goto(`${house.url}/pricing`)
    await button(page, 'Buy Starter').click()
    await page.getByText('Your browser keeps nothing').waitFor()
    assert.equal(new URL(page.url()).pathname, '/pricing')
  })

  test('still opens an order by its link', async () => {
    const made = await order(house.url)
    await clickPay(house.url, made)
    const page = await openForgetful()
    await page.goto(`${house.url}/orders/${made.id}#${made.secret}`)
    await button(page, 'Show my key').click()
    assert.equal(await usage(await shownKey(page)), 200)
  })
})

test('an address that is none is not sent', async () => {
  const page = await openPage()
  await page.goto(`${house.url}/pricing`)
  await page.getByLabel('E-mail').fill('ann')
  await button(page, 'Buy Starter').click()
  assert.equal(await page.evaluate(`document.querySelector('#email:invalid') !== null`), true)
  assert.ok(!asked.some((url) => url.includes('/api/checkout')))
})

test('without JavaScript the pages say what to do, and the test shop can be paid', async () => {
  const made = await order(house.url)
  const page = await openPage({ javaScriptEnabled: false })
  await page.goto(`${house.url}/pricing`)
  assert.match(await page.locator('noscript').innerText(), /curl -X POST/)
  assert.ok(await button(page, 'Buy Starter').isDisabled())
  await page.goto(made.payUrl)
  await button(page, 'Pay 5 USD').click()
  await page.waitForURL('**/orders/**')
  assert.match(await page.locator('noscript').innerText(), /Claim-Secret/)
  assert.equal((await claim(house.url, made)).status, 200)
})

for (const { name, ...viewport } of SCREENS) {
  for (const colorScheme of SCHEMES) {
    test(`on a ${name}, ${colorScheme}, every page fits and can be read`, async () => {
      const page = await openPage({ viewport, colorScheme })
      const check = async () => {
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), viewport.width)
        assert.ok((await checkContrast(page, colorScheme)) > 4)
      }
      await page.goto(`${house.url}/pricing`)
      await button(page, 'Buy Business').isEnabled()
      await check()
      await buy(page, 'Business')
      await check()
      await button(page, 'Pay 45 USD').click()
      await button(page, 'Show my key').waitFor()
      await check()
      await button(page, 'Show my key').click()
      await shownKey(page)
      await check()
      await page.goto(`${house.url}/orders/ord_${'0'.repeat(22)}`)
      await page.getByText('does not know').waitFor()
      await check()
    })
  }
}
