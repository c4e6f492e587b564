import { request } from '../../support/http-client.ts'
import type { TestKey } from '../../support/keys.ts'
import type { View, ViewContext } from '../views.ts'

export const keyViews: readonly View[] = [
  {
    name: 'key-form',
    async open({ page, app }) {
      await page.goto(`${app.url}/key`)
      await page.getByLabel('Your key').waitFor()
    },
  },
  {
    name: 'key-wrong',
    complaint: /401/,
    async open(stage) {
      await giveKey(stage, 'mf_live_nothing')
      await stage.page.getByText('Unknown or revoked key').waitFor()
    },
  },
  {
    name: 'key-usage',
    async open(stage) {
      const key = await stage.ring.issue({ requests: 2_000, perDay: 100, months: 12 })
      await spend(stage, key, 14)
      await giveKey(stage, key.secret)
      await stage.page.getByText('Last 30 days').waitFor()
    },
  },
  {
    name: 'key-roll',
    async open(stage) {
      const key = await stage.ring.issue({ requests: 2_000, perDay: 100, months: 12 })
      await giveKey(stage, key.secret)
      await stage.page.getByRole('button', { name: 'Roll this key' }).click()
      await stage.page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'key-rolled',
    async open(stage) {
      const key = await stage.ring.issue({ requests: 2_000, perDay: 100, months: 12 })
      await giveKey(stage, key.secret)
      await stage.page.getByRole('button', { name: 'Roll this key' }).click()
      await stage.page.getByRole('button', { name: 'Roll key' }).click()
      await stage.page.getByText('The old key works until').waitFor()
    },
  },
  {
    name: 'key-table',
    async open(stage) {
      const key = await stage.ring.issue({ requests: 2_000, perDay: 100, months: 12 })
      await spend(stage, key, 3)
      await giveKey(stage, key.secret)
      await stage.page.getByText('Show as table').click()
      await stage.page.getByRole('columnheader', { name: 'Requests' }).waitFor()
    },
  },
  {
    name: 'key-used-up',
    async open(stage) {
      const key = await stage.ring.issue({ requests: 2 })
      await spend(stage, key, 2)
      await giveKey(stage, key.secret)
      await stage.page.getByText('All requests of this plan are used').waitFor()
    },
  },
]

export async function giveKey({ page, app }: Pick<ViewContext, 'page' | 'app'>, secret: string) {
  await page.goto(`${app.url}/key`)
  await page.getByLabel('Your key').fill(secret)
  await page.getByRole('button', { name: 'Show usage' }).click()
}

export async function spend(
  { app }: Pick<ViewContext, 'app'>,
  { headers }: TestKey,
  count: number,
) {
  for (let done = 0; done < count; done += 1) {
    const { status, text } = await request(`${app.url}/emails`, { headers })
    if (status !== 200) throw new Error(`${status} ${text}`)
  }
}
