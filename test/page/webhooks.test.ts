import type { Page } from 'playwright-core'
import { Webhook as Verifier } from 'standardwebhooks'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openReceiver } from '../kit/http/webhook-receiver.ts'
import { PHONE } from '../kit/page/browser.ts'
import { checkAccessibility, openPages } from '../kit/page/pages.ts'
import { enterKey } from '../kit/page/views/key.ts'
import { type KeyRing, openKeyRing, type TestKey } from '../kit/shop/keys.ts'
import { waitUntil } from '../kit/wait-until.ts'

const { app, visit, allow } = openPages({ MAYFLY_WEBHOOK_ALLOW: '127.0.0.1' })
let ring: KeyRing
beforeAll(async () => {
  ring = await openKeyRing(app())
})
afterAll(() => ring.close())

async function showUsage(key: TestKey): Promise<Page> {
  const page = await visit('/key')
  await enterKey(page, key.secret)
  await page.getByText('Last 30 days').waitFor()
  return page
}

test('webhooks are created, tested, rolled, replayed and deleted, with their deliveries; one that is refused says why', async () => {
  const receiver = await openReceiver()
  onTestFinished(() => receiver.close())
  const key = await ring.issue()
  const page = await showUsage(key)
  const section = page.getByRole('region', { name: 'Webhooks' })
  const press = (name: string) => section.getByRole('button', { name, exact: true }).click()
  const confirm = async (name: string) => {
    await press(name)
    await page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
  }
  await section.getByLabel('Endpoint URL').fill(receiver.url)
  await section.getByLabel('Only mail to this address').fill('page@pool.test')
  await press('Create webhook')
  await section.getByText('This is the webhook’s signing secret').waitFor()
  await press('Show secret')
  await section.getByRole('button', { name: 'Hide secret' }).waitFor()
  const secret = (await section.locator('.secret-sample code').textContent()) ?? ''
  await press('Send a test')
  await section.getByText('Test delivered: status 200').waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Send a test')
  const [one] = receiver.received
  new Verifier(secret).verify(one?.body ?? '', one?.headers ?? {})
  await app().mail('page@pool.test')
  await waitUntil(() => receiver.received.length === 2)
  await confirm('Redeliver all messages')
  await waitUntil(() => receiver.received.length === 3)
  await confirm('Roll secret')
  await waitUntil(
    async () => (await section.locator('.secret-sample code').textContent()) !== secret,
  )
  await section.getByText('Deliveries').click()
  await section.getByRole('columnheader', { name: 'Result' }).waitFor()
  await expect
    .poll(async () =>
      (await section.locator('tbody tr td:nth-child(2)').allTextContents()).slice(-1),
    )
    .toStrictEqual(['200'])
  const badge = section.locator('summary .badge')
  await expect.poll(() => badge.innerText()).toBe('Active')
  receiver.state.behaviour = 500
  await press('Send a test')
  await section.getByText(/^Test failed: status 500 \(\d+ ms\)$/).waitFor()
  await expect.poll(() => badge.innerText()).toBe('Test failed')
  await receiver.close()
  await press('Send a test')
  await section.getByText('Test failed: could not connect').waitFor()
  await receiver.open()
  receiver.state.behaviour = 200
  await press('Send a test')
  await section.getByText('Test delivered').waitFor()
  await expect.poll(() => badge.innerText()).toBe('Active')
  await page.setViewportSize(PHONE)
  await checkAccessibility(page)
  await confirm('Delete webhook')
  await waitUntil(async () => (await section.locator('details').count()) === 0)
  await page.locator('section:focus', { hasText: 'Webhooks' }).waitFor()

  allow({ complaint: /403/ })
  await section.getByLabel('Endpoint URL').fill('https://10.0.0.1/')
  await press('Create webhook')
  await section.getByRole('alert').getByText('the address is not public').waitFor()
})
