import type { Page } from 'playwright-core'
import type { View, ViewContext } from '../views.ts'

export const docsViews: readonly View[] = [
  {
    name: 'docs',
    repeated: `main > section:not(#first-steps, #making-requests, #create-session, #check-mail, #delete-session, #list-emails, #errors)`,
    async open({ page, app }) {
      await page.goto(`${app.url}/docs`)
      await page.locator('[data-call="GET /api/domains"]').getByRole('button').waitFor()
    },
  },
  {
    name: 'docs-section',
    continues: true,
    screenshotOnly: true,
    async open({ page, app }) {
      await page.goto(`${app.url}/docs#list-emails`)
    },
  },
  {
    name: 'docs-console',
    continues: true,
    within: '#create-session',
    async open(stage) {
      const form = await openConsole(stage, 'POST /api/create-session')
      await form.getByRole('button', { name: 'Send' }).click()
      await form.getByText('200 OK').waitFor()
      await form.getByText('Headers').click()
      await form.getByText('As a curl command').click()
      await stage.page.evaluate(`document.querySelector('#create-session').scrollIntoView()`)
    },
  },
  {
    name: 'docs-refused',
    continues: true,
    within: '#check-mail',
    complaint: /401/,
    async open(stage) {
      const form = await openConsole(stage, 'GET /api/check-mail')
      await form.getByLabel('Session token').fill('nonsense')
      await form.getByRole('button', { name: 'Send' }).click()
      await form.getByText('401 Unauthorized').waitFor()
    },
  },
  {
    name: 'docs-sure',
    continues: true,
    within: 'dialog',
    async open(stage) {
      const form = await openConsole(stage, 'POST /api/delete-session')
      await form.getByLabel('Session token').fill('nonsense')
      await form.getByRole('button', { name: 'Send' }).click()
      await stage.page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'docs-coming-from',
    repeated: 'main > section:not(#mailosaur)',
    async open({ page, app }) {
      await page.goto(`${app.url}/docs/coming-from`)
      await page.getByRole('heading', { name: 'Mailosaur' }).waitFor()
    },
  },
]

export async function openConsole({ page, app }: Pick<ViewContext, 'page' | 'app'>, call: string) {
  await page.goto(`${app.url}/docs#${call.replace(/^.*\//, '')}`)
  return await tryCall(page, call)
}

export async function tryCall(page: Page, call: string) {
  // Looking for a role in the whole document takes long, and each action on the form does so again.
  const place = page.locator(`[data-call="${call}"]`)
  await place.getByRole('button', { name: `Try it: ${call}`, exact: true }).click()
  const form = place.getByRole('form', { name: `Try ${call}`, exact: true })
  await form.waitFor()
  return form
}
