import type { View, ViewContext } from '../views.ts'

const MAIL = [
  'From: Acme Accounts <no-reply@acme.example>',
  'Subject: Your sign-in code',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain; charset=utf-8',
  '',
  'Hello,',
  '',
  'your verification code is 483920. It is valid for ten minutes.',
  '',
  'Or confirm your address: https://acme.example/verify?account=1',
  '--b',
  'Content-Type: application/pdf',
  'Content-Disposition: attachment; filename=terms.pdf',
  '',
  '%PDF-1.4',
  '--b--',
  '',
].join('\r\n')

/** The pages without scripts. The inbox is opened with automatic refresh stopped. */
export const plainViews: readonly View[] = [
  {
    name: 'plain-start',
    open: async ({ page, app }) => void (await page.goto(`${app.url}/plain`)),
  },
  {
    name: 'plain-not-found',
    complaint: /404/,
    open: async ({ page, app }) => void (await page.goto(`${app.url}/nope`)),
  },
  {
    name: 'plain-refused',
    complaint: /400/,
    async open({ page, app }) {
      await page.goto(`${app.url}/plain`)
      await page.getByLabel('Name', { exact: true }).fill('not..this')
      await page.getByRole('button', { name: 'Create address' }).click()
      await page.getByRole('alert').waitFor()
    },
  },
  {
    name: 'plain-empty',
    open: openInbox,
  },
  {
    name: 'plain-inbox',
    isMain: true,
    continues: true,
    async open({ page, app }) {
      const address = (await page.locator('.plain-address').innerText()).trim()
      await app.mail(address)
      await app.mail(address, MAIL)
      await page.getByRole('link', { name: 'Check now' }).click()
      await page.getByRole('link', { name: 'Your sign-in code' }).waitFor()
    },
  },
  {
    name: 'plain-message',
    continues: true,
    async open({ page }) {
      await page.getByRole('link', { name: 'Your sign-in code' }).click()
      await page.getByText('valid for ten minutes').waitFor()
    },
  },
  {
    name: 'plain-end',
    continues: true,
    async open({ page, app }) {
      await page.goto(`${app.url}/plain`)
      await page.getByRole('link', { name: 'Delete address' }).click()
      await page.getByRole('heading', { name: 'Delete this address?' }).waitFor()
    },
  },
  {
    name: 'plain-missing',
    complaint: /404/,
    continues: true,
    open: async ({ page, app }) => void (await page.goto(`${app.url}/plain/mail/1`)),
  },
]

async function openInbox({ page, app }: Pick<ViewContext, 'page' | 'app'>): Promise<void> {
  await page.goto(`${app.url}/plain`)
  await page.getByRole('button', { name: 'Get an address' }).click()
  await page.getByRole('link', { name: 'Stop checking' }).click()
  await page.getByText('Automatic checking is off').waitFor()
}
