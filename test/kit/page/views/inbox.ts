import { mailboxOf, opener, plainMail, row, storeMailboxes, waitForInbox } from '../inbox.ts'
import type { View, ViewContext } from '../views.ts'

const MAILS = [
  { from: 'Linear <no-reply@linear.test>', subject: 'Sign in', text: 'Your code is 482915.' },
  {
    from: '"A very long name of a very long company indeed" <news@company.test>',
    subject: 'A very long subject that goes on and on and fits into no line of any list at all',
  },
  { from: 'info@shop.test', subject: '' },
  {
    from: 'GitHub <noreply@github.test>',
    subject: '[GitHub] Please verify your device',
    text: 'Verification code: 731204\r\n\r\nIf it was not you, change your password.',
  },
  { from: 'Café Zürich <hello@cafe.test>', subject: 'Welcome' },
]

async function open({ page, app }: ViewContext): Promise<{ email: string; token: string }> {
  await page.goto(app.url)
  return await waitForInbox(page)
}

export const inboxViews: readonly View[] = [
  {
    name: 'inbox-empty',
    async open(stage) {
      await open(stage)
    },
  },
  {
    name: 'inbox-settings',
    continues: true,
    async open({ page }) {
      await page.getByText('Settings').click()
    },
  },
  {
    name: 'inbox-keys',
    within: 'dialog',
    continues: true,
    async open({ page }) {
      await page.getByText('Settings').click()
      await page.keyboard.press('?')
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'inbox-list',
    isMain: true,
    continues: true,
    async open({ page, app }) {
      await page.keyboard.press('Escape')
      const { email } = await mailboxOf(page)
      for (const mail of MAILS) await app.mail(email, plainMail(mail))
      for (const text of ['482915', '731204', 'Welcome']) await row(page, text).waitFor()
    },
  },
  {
    name: 'inbox-open',
    continues: true,
    async open({ page }) {
      await opener(page, 'GitHub').click()
      await page.locator('.mail-text', { hasText: 'If it was not you' }).waitFor()
    },
  },
  {
    name: 'inbox-selected',
    continues: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'Back to the list' }).click()
      await page.getByRole('checkbox', { name: 'Select “Welcome”' }).check()
    },
  },
  {
    name: 'inbox-search',
    continues: true,
    async open({ page }) {
      await page.getByRole('checkbox', { name: 'Select “Welcome”' }).uncheck()
      await page.getByRole('searchbox').fill('verify')
      await page.getByRole('button', { name: 'Codes' }).click()
      await page.locator('mark').first().waitFor()
    },
  },
  {
    name: 'inbox-none-found',
    continues: true,
    async open({ page }) {
      await page.getByRole('searchbox').fill('nothing like that')
      await page.getByText('No messages match').waitFor()
    },
  },
  {
    name: 'inbox-undo',
    continues: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'Clear search' }).click()
      await page.getByRole('checkbox', { name: 'Select “Sign in”' }).check()
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      // It stays as long as it has the focus.
      await page.getByRole('button', { name: 'Undo' }).focus()
    },
  },
  {
    name: 'inbox-full',
    continues: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.route('**/api/check-mail*', async (route) => {
        // The page may have the current list already, and would be told that nothing has changed.
        const { 'if-none-match': _, ...headers } = route.request().headers()
        const response = await route.fetch({ headers })
        await route.fulfill({ response, json: { ...(await response.json()), full: true } })
      })
      await page.getByRole('button', { name: 'Check now' }).click()
      await page.getByText('Mailbox full').waitFor()
    },
  },
  {
    name: 'inbox-unreachable',
    complaint: /ERR_FAILED/,
    continues: true,
    async open({ page }) {
      await page.route('**/api/*', (route) => route.abort())
      await page.getByRole('button', { name: 'Check now' }).click()
      await page.getByText('Could not reach the server.').waitFor()
    },
  },
  {
    name: 'inbox-all',
    async open({ page, app }) {
      const sessions = [await app.session({ label: 'Netflix trial' }), await app.session()]
      const [first, second] = sessions
      for (const [index, mail] of MAILS.entries()) {
        await app.mail((index % 2 === 0 ? first : second)?.email ?? '', plainMail(mail))
      }
      await page.goto(`${app.url}/favicon.svg`)
      await storeMailboxes(page, sessions)
      await page.goto(app.url)
      await page.getByRole('button', { name: 'All addresses' }).click()
      for (const text of ['482915', '731204', 'Welcome']) await row(page, text).waitFor()
    },
  },
  {
    name: 'inbox-ended',
    complaint: /401/,
    async open(stage) {
      const { token } = await open(stage)
      await fetch(`${stage.app.url}/api/delete-session`, {
        method: 'POST',
        body: new URLSearchParams({ token }),
      })
      await stage.page.getByRole('heading', { name: 'This address no longer exists' }).waitFor()
    },
  },
  {
    // The other addresses of the tests are at example domains.
    name: 'inbox-empty-real',
    screenshotOnly: true,
    async open({ page, app }) {
      await page.goto(`${app.url}/favicon.svg`)
      const { token } = await app.session()
      await storeMailboxes(page, [{ email: 'lafupeno.kidome@mail-box.org', token }])
      await page.goto(app.url)
      await waitForInbox(page)
    },
  },
]
