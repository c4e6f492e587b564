import { claim, createOrder, payOrder } from '../../shop/shop-client.ts'
import type { View, ViewContext } from '../views.ts'

export const shopViews: readonly View[] = [
  {
    name: 'pricing',
    isMain: true,
    async open({ page, app }) {
      await page.goto(`${app.url}/pricing`)
      await page.locator('button:enabled', { hasText: 'Buy Business' }).waitFor()
    },
  },
  {
    name: 'pricing-by-hand',
    async open({ page, app }) {
      await page.route('**/api/plans', async (route) => {
        const response = await route.fetch()
        const payments = { provider: 'manual', buyable: false }
        await route.fulfill({ json: { ...(await response.json()), payments } })
      })
      await page.goto(`${app.url}/pricing`)
      await page.getByText('Plans are not sold online here').waitFor()
      await page.getByLabel('Theme').waitFor()
    },
  },
  {
    name: 'pricing-unreachable',
    complaint: /ERR_FAILED/,
    async open({ page, app }) {
      await page.route('**/api/plans', (route) => route.abort())
      await page.goto(`${app.url}/pricing`)
      await page.getByRole('button', { name: 'Try again' }).waitFor()
    },
  },
  {
    name: 'pay',
    async open({ page, app }) {
      await page.goto((await createOrder(app.url, { plan: 'business' })).payUrl)
      await page.getByLabel('Theme').waitFor()
    },
  },
  {
    name: 'order-open',
    isMain: true,
    async open(stage) {
      await openOrder(stage, [])
      await stage.page.getByText('Awaiting payment').waitFor()
    },
  },
  {
    name: 'order-pending',
    continues: true,
    async open(stage) {
      await payOpened(stage, 'later')
      await stage.page.getByText('Payment pending').waitFor()
    },
  },
  {
    name: 'order-paid',
    continues: true,
    async open(stage) {
      await payOpened(stage, 'pay')
      await stage.page.getByRole('button', { name: 'Show my key' }).waitFor()
    },
  },
  {
    name: 'order-key',
    continues: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'Show my key' }).click()
      await page.getByText('This is your key').waitFor()
    },
  },
  {
    name: 'order-failed',
    async open(stage) {
      await openOrder(stage, ['decline'])
      await stage.page.getByText('Payment failed').waitFor()
    },
  },
  {
    name: 'order-replace',
    async open({ page, app }) {
      const made = await createOrder(app.url, { plan: 'business' })
      await payOrder(app.url, made, 'pay')
      await claim(app.url, made)
      await page.goto(`${app.url}/orders/${made.id}#${made.secret}`)
      await page.getByRole('button', { name: 'Create a new key' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'order-stranger',
    async open({ page, app }) {
      await page.goto(`${app.url}/orders/ord_${'0'.repeat(22)}`)
      await page.getByText('Open this order with its private link.').waitFor()
    },
  },
]

async function openOrder({ page, app }: ViewContext, clicks: readonly string[]): Promise<void> {
  const made = await createOrder(app.url, { plan: 'business' })
  for (const click of clicks) await payOrder(app.url, made, click)
  await page.goto(`${app.url}/orders/${made.id}#${made.secret}`)
}

/** The page notices it by itself. */
async function payOpened({ page, app }: ViewContext, click: string): Promise<void> {
  const id = new URL(page.url()).pathname.replace('/orders/', '')
  await payOrder(app.url, { id, secret: '', payUrl: '' }, click)
}
