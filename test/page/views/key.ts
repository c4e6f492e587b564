import type { Page } from 'playwright-core'
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
    continues: true,
    async open({ page }) {
      await enterKey(page, 'mf_live_nothing')
      await page.getByText('Unknown or revoked key').waitFor()
    },
  },
  {
    name: 'key-usage',
    continues: true,
    async open(stage) {
      const key = await stage.ring.issue({ requests: 2_000, perDay: 100, months: 12 })
      await spend(stage, key, 14)
      await enterKey(stage.page, key.secret)
      await stage.page.getByText('Last 30 days').waitFor()
    },
  },
  {
    name: 'key-table',
    continues: true,
    async open({ page }) {
      await page.getByText('Show as table').click()
      await page.getByRole('columnheader', { name: 'Requests' }).waitFor()
    },
  },
  {
    name: 'key-roll',
    within: 'dialog',
    continues: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'Roll this key' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'key-rolled',
    continues: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'Roll key' }).click()
      await page.getByText('The old key works until').waitFor()
    },
  },
  {
    name: 'key-used-up',
    continues: true,
    async open(stage) {
      const key = await stage.ring.issue({ requests: 2 })
      await spend(stage, key, 2)
      await stage.page.getByRole('button', { name: 'Forget this key' }).click()
      await enterKey(stage.page, key.secret)
      await stage.page.getByText('All requests in this plan have been used').waitFor()
    },
  },
]

export async function enterKey(page: Page, secret: string): Promise<void> {
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
