import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, test } from 'vitest'
import { type App, sharedApp, startApp } from '../../../test/support/app.ts'
import { request } from '../../../test/support/http-client.ts'
import { tempFolder } from '../../../test/support/stores.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp()
})

describe('200', () => {
  test('the default plans are listed, and cannot be bought online', async () => {
    const { body, headers } = await request(`${app.url}/api/plans`)
    assert.deepEqual(body, {
      status: 'success',
      plans: [
        {
          id: 'starter',
          name: 'Starter',
          price: { cents: 500, currency: 'usd', text: '5 USD' },
          requests: 1_000,
          per_day: null,
          months: null,
          renews: false,
          validity: 'no expiry',
          support: 'Standard e-mail support',
        },
        {
          id: 'business',
          name: 'Business',
          price: { cents: 4_500, currency: 'usd', text: '45 USD' },
          requests: 100_000,
          per_day: 1_000,
          months: 12,
          renews: true,
          validity: '1 year',
          support: '24/7 priority support',
        },
      ],
      payments: { provider: 'manual', buyable: false },
    })
    assert.equal(headers.get('access-control-allow-origin'), '*')
  })

  test('custom plans are listed, and can be bought with a payment provider', async () => {
    const folder = tempFolder()
    const file = join(folder.path, 'plans.json')
    const small = { id: 'small', name: 'Small', price_cents: 150, currency: 'eur', requests: 10 }
    writeFileSync(file, JSON.stringify([{ ...small, months: 3, support: 'none' }]))
    const shop = await startApp({ env: { MAYFLY_PLANS_FILE: file, MAYFLY_PAYMENTS: 'fake' } })
    const { body } = await request(`${shop.url}/api/plans`)
    const [plan] = body['plans'] as Record<string, unknown>[]
    assert.deepEqual(plan?.['price'], { cents: 150, currency: 'eur', text: '1.50 EUR' })
    assert.equal(plan?.['validity'], '3 months')
    assert.deepEqual(body['payments'], { provider: 'fake', buyable: true })
    await shop.stop()
    folder.remove()
  })
})
