import { test } from 'vitest'
import { createOrder, FAKE_SHOP } from '../support/shop-client.ts'
import { openPages } from './support/pages.ts'
import { openConsole } from './views/docs.ts'

const { app, visit } = openPages(FAKE_SHOP)
// No header takes it, so no server can be asked about it.
const ODD = 'mf_live_€'

test('a key that cannot be sent is a wrong key', async () => {
  const page = await visit('/key')
  await page.getByLabel('Your key').fill(ODD)
  await page.getByRole('button', { name: 'Show usage' }).click()
  await page.getByText('Unknown or revoked key').waitFor()
})

test('a claim secret that cannot be sent is a wrong one', async () => {
  const { id } = await createOrder(app().url)
  const page = await visit(`/orders/${id}`)
  await page.getByLabel('Claim secret').fill(ODD)
  await page.getByRole('button', { name: 'Open order' }).click()
  await page.getByText('Order not found').waitFor()
})

for (const [call, label, words] of [
  ['GET /emails', 'Your key', 'The API key is invalid or missing.'],
  ['GET /api/check-mail', 'Session token', 'token: no session has this token.'],
] as const) {
  test(`the console says of an odd secret what the API says of a wrong one: ${label}`, async () => {
    const page = await visit('/favicon.svg')
    const form = await openConsole({ page, app: app() }, call)
    await form.getByLabel(label).fill(ODD)
    for (const field of await form.locator('input[required]').all()) {
      if ((await field.inputValue()) === '') await field.fill('a@box.test')
    }
    await form.getByRole('button', { name: 'Send' }).click()
    await form.getByText(words).waitFor()
  })
}
