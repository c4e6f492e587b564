import { opener, waitForInbox } from '../support/inbox.ts'
import { htmlMail, textMail, welcomeMail } from '../support/mails.ts'
import type { View, ViewContext } from '../views.ts'

/** The only mail of a new address, opened. */
async function open({ page, app }: ViewContext, raw: string, subject: string): Promise<void> {
  await page.goto(app.url)
  const { email } = await waitForInbox(page)
  await app.mail(email, raw)
  await opener(page, subject).click()
  await page.locator('article.reader[aria-busy=false]').waitFor()
}

async function openWelcome(stage: ViewContext, tab?: string): Promise<void> {
  await open(stage, welcomeMail(), 'Confirm your address')
  await stage.page.frameLocator('.mail-frame').getByText('valid for ten minutes').waitFor()
  if (tab) await stage.page.getByRole('tab', { name: tab, exact: true }).click()
}

async function openLink({ page, app }: ViewContext, link: string): Promise<void> {
  await page.goto(`${app.url}/leave#${encodeURIComponent(link)}`)
  await page.getByRole('link', { name: 'Back' }).waitFor()
}

const SPOOFED = textMail(
  'Dear customer,\r\n\r\nyour account is locked. Go to https://bank.test.evil.test/login now.\r\n',
  {
    subject: 'Your account',
    from: '"service@bank.test" <x@evil.test>',
    more: ['Reply-To: y@evil.test'],
  },
)
const WIDE = htmlMail(`<table width="1200"><tr>${'<td>wide</td>'.repeat(40)}</tr></table>`, {
  subject: 'A wide table',
})

export const readerViews: readonly View[] = [
  { name: 'reader-message', open: (stage) => openWelcome(stage) },
  {
    name: 'reader-text',
    async open(stage) {
      await openWelcome(stage, 'Text')
      await stage.page.locator('.mail-text').waitFor()
    },
  },
  {
    name: 'reader-headers',
    async open(stage) {
      await openWelcome(stage, 'Headers')
      await stage.page.locator('.mail-headers').waitFor()
    },
  },
  {
    name: 'reader-source',
    async open(stage) {
      await openWelcome(stage, 'Source')
      await stage.page.locator('.mail-raw').waitFor()
    },
  },
  { name: 'reader-spoofed', open: (stage) => open(stage, SPOOFED, 'Your account') },
  {
    name: 'reader-wide',
    async open(stage) {
      await open(stage, WIDE, 'A wide table')
      await stage.page.frameLocator('.mail-frame').getByText('wide').first().waitFor()
    },
  },
  { name: 'leave-plain', open: (stage) => openLink(stage, 'https://login.acme.test/verify?t=1') },
  {
    name: 'leave-doubtful',
    open: (stage) => openLink(stage, `http://bank.test@192.0.2.1:8080/${'x'.repeat(300)}`),
  },
  { name: 'leave-mail', open: (stage) => openLink(stage, 'mailto:ann@acme.test?subject=x') },
  { name: 'leave-refused', open: (stage) => openLink(stage, 'javascript:alert(1)') },
  { name: 'leave-nothing', open: (stage) => openLink(stage, '') },
]
