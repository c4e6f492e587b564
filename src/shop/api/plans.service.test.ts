import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp, startApp } from '../../../test/kit/app/app.ts'
import { request } from '../../../test/kit/http/http-client.ts'
import { tempFolder } from '../../../test/kit/store/stores.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp()
})

describe('200', () => {
  test('the default plans are listed, and cannot be bought online', async () => {
    const { body, headers } = await request(`${app.url}/api/plans`)
    expect(body).toStrictEqual({
      status: 'success',
      plans: [
        {
          id: 'starter',
          name: 'Starter',
          price: { cents: 500, currency: 'usd', text: '5 USD' },
          requests: 1_000,
          per_day: null,
          months: null,
          domains: 0,
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
          domains: 0,
          renews: true,
          validity: '1 year',
          support: '24/7 priority support',
        },
      ],
      payments: { provider: 'manual', buyable: false },
    })
    expect(headers.get('access-control-allow-origin')).toBe('*')
  })

  test('custom plans are listed, and can be bought with a payment provider', async () => {
    const folder = tempFolder()
    const file = join(folder.path, 'plans.json')
    const small = { id: 'small', name: 'Small', price_cents: 150, currency: 'eur', requests: 10 }
    writeFileSync(file, JSON.stringify([{ ...small, months: 3, domains: 2, support: 'none' }]))
    const env = { MAYFLY_PLANS_FILE: file, MAYFLY_PAYMENTS: 'fake', MAYFLY_OWN_DOMAINS: 'keys' }
    const shop = await startApp({ env })
    const { body } = await request(`${shop.url}/api/plans`)
    const [plan] = body['plans'] as Record<string, unknown>[]
    expect(plan?.['price']).toStrictEqual({ cents: 150, currency: 'eur', text: '1.50 EUR' })
    expect([plan?.['validity'], plan?.['domains']]).toEqual(['3 months', 2])
    expect(body['payments']).toStrictEqual({ provider: 'fake', buyable: true })
    await shop.stop()
    folder.remove()
  })
})
