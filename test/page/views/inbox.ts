import { opener, plainMail, row, waitForInbox } from '../support/inbox.ts'
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

async function openWithMail(stage: ViewContext): Promise<void> {
  const { email } = await open(stage)
  for (const mail of MAILS) await stage.app.mail(email, plainMail(mail))
  await row(stage.page, '482915').waitFor()
  await row(stage.page, '731204').waitFor()
  await row(stage.page, 'Welcome').waitFor()
}

export const inboxViews: readonly View[] = [
  {
    name: 'inbox-empty',
    async open(stage) {
      await open(stage)
    },
  },
  { name: 'inbox-list', open: openWithMail },
  {
    name: 'inbox-open',
    async open(stage) {
      await openWithMail(stage)
      await opener(stage.page, 'GitHub').click()
      await stage.page.getByText('If it was not you').waitFor()
    },
  },
  {
    name: 'inbox-selected',
    async open(stage) {
      await openWithMail(stage)
      await stage.page.getByRole('checkbox', { name: 'Select “Welcome”' }).check()
    },
  },
  {
    name: 'inbox-undo',
    transient: true,
    async open(stage) {
      await openWithMail(stage)
      await stage.page.getByRole('button', { name: 'Delete all' }).click()
      await stage.page.getByRole('button', { name: 'Undo' }).waitFor()
    },
  },
  {
    name: 'inbox-none-found',
    async open(stage) {
      await openWithMail(stage)
      await stage.page.getByRole('searchbox').fill('nothing like that')
      await stage.page.getByText('No messages match').waitFor()
    },
  },
  {
    name: 'inbox-settings',
    async open(stage) {
      await open(stage)
      await stage.page.getByText('Settings').click()
    },
  },
  {
    name: 'inbox-keys',
    async open(stage) {
      await open(stage)
      await stage.page.keyboard.press('?')
      await stage.page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'inbox-away',
    complaint: /ERR_FAILED/,
    async open(stage) {
      await openWithMail(stage)
      await stage.page.route('**/api/*', (route) => route.abort())
      await stage.page.getByRole('button', { name: 'Check now' }).click()
      await stage.page.getByText('Could not reach the server.').waitFor()
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
      await stage.page.getByRole('heading', { name: 'This address has expired' }).waitFor()
    },
  },
  {
    name: 'inbox-full',
    async open(stage) {
      await stage.page.route('**/api/check-mail*', async (route) => {
        const response = await route.fetch()
        if (response.status() !== 200) return await route.fulfill({ response })
        await route.fulfill({ response, json: { ...(await response.json()), full: true } })
      })
      await openWithMail(stage)
      await stage.page.reload()
      await stage.page.getByText('This mailbox is full').waitFor()
    },
  },
]
