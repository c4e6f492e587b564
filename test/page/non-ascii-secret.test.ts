import { test } from 'vitest'
import { createOrder, FAKE_SHOP } from '../support/shop-client.ts'
import { openPages } from './support/pages.ts'
import { openConsole } from './views/docs.ts'

const { app, visit } = openPages(FAKE_SHOP)
// Contains characters not allowed in a header, so it cannot be sent to the server.
const NON_ASCII = 'mf_live_€'

test('a key with characters not allowed in a header is reported as wrong', async () => {
  const page = await visit('/key')
  await page.getByLabel('Your key').fill(NON_ASCII)
  await page.getByRole('button', { name: 'Show usage' }).click()
  await page.getByText('Unknown or revoked key').waitFor()
})

test('a claim secret with characters not allowed in a header is reported as wrong', async () => {
  const { id } = await createOrder(app().url)
  const page = await visit(`/orders/${id}`)
  await page.getByLabel('Claim secret').fill(NON_ASCII)
  await page.getByRole('button', { name: 'Open order' }).click()
  await page.getByText('Order not found').waitFor()
})

test('the console shows the API’s error for a secret with characters not allowed in a header', async () => {
  const page = await visit('/favicon.svg')
  for (const [call, label, words] of [
    ['GET /emails', 'Your key', 'The API key is invalid or missing.'],
    ['GET /api/check-mail', 'Session token', 'token: no session has this token.'],
  ] as const) {
    const form = await openConsole({ page, app: app() }, call)
    await form.getByLabel(label).fill(NON_ASCII)
    for (const field of await form.locator('input[required]').all()) {
      if ((await field.inputValue()) === '') await field.fill('a@box.test')
    }
    await form.getByRole('button', { name: 'Send' }).click()
    await form.getByText(words).waitFor()
  }
})
