import type { Page } from 'playwright-core'
import { DESKTOP } from '../browser.ts'
import { mailboxOf, opener, openMenu, waitForInbox } from '../inbox.ts'
import { htmlMail, mailWithFiles, newsletterMail, textMail, welcomeMail } from '../mails.ts'
import type { View, ViewContext } from '../views.ts'

/** The only mail of a new address, opened. */
async function open({ page, app }: ViewContext, raw: string, subject: string): Promise<void> {
  await page.goto(app.url)
  const { email } = await waitForInbox(page)
  await app.mail(email, raw)
  await opener(page, subject).click()
  await page.locator('article.reader[aria-busy=false]').waitFor()
}

/** Another mail of the same address, opened. */
async function openNext({ page, app }: ViewContext, raw: string, subject: string): Promise<void> {
  await page.getByRole('button', { name: 'Back to the list' }).click()
  const { email } = await mailboxOf(page)
  await app.mail(email, raw)
  await opener(page, subject).click()
  await page.locator('article.reader[aria-busy=false]').waitFor()
}

function tabView(name: string, tab: string, content: string): View {
  return {
    name,
    continues: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'More' }).click()
      const choices = page.locator('.reader-choices')
      await choices.getByRole('button', { name: tab, exact: true }).click()
      await page.locator(content).waitFor()
    },
  }
}

/** A button that only two panes have. */
async function pressWide(page: Page, name: string): Promise<void> {
  await page.setViewportSize(DESKTOP)
  await page.getByRole('button', { name, exact: true }).click()
}

function linkView(name: string, link: string, host: string): View {
  return {
    name,
    async open({ page, app }) {
      await page.goto(`${app.url}/leave#${encodeURIComponent(link)}`)
      await page.getByText(host).first().waitFor()
    },
  }
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

const EVENT = `BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nSUMMARY:Planning for the second quarter
LOCATION:Room 4\\, second floor\r\nORGANIZER;CN=Dana Reyes:mailto:dana@acme.test
DTSTART:20260309T090000Z\r\nDTEND:20260309T103000Z\r\nEND:VEVENT\r\nEND:VCALENDAR`
const INVITATION = mailWithFiles(
  '<p>You have been invited to a meeting.</p>',
  [{ name: 'invite.ics', type: 'text/calendar', bytes: new TextEncoder().encode(EVENT) }],
  { subject: 'Invitation: Planning' },
)

export const readerViews: readonly View[] = [
  {
    name: 'reader-message',
    isMain: true,
    async open(stage) {
      await open(stage, welcomeMail(), 'Confirm your address')
      await stage.page.frameLocator('.mail-frame').getByText('valid for ten minutes').waitFor()
    },
  },
  {
    name: 'reader-details',
    within: 'article',
    continues: true,
    async open({ page }) {
      await page.getByRole('button', { name: 'Details' }).click()
      await page.getByText('You <you@box.test>').waitFor()
      await page.keyboard.press('Escape')
    },
    resized: (page) => openMenu(page, '.reader-from .popover-button'),
  },
  {
    name: 'reader-more',
    continues: true,
    screenshotOnly: true,
    open: async () => undefined,
    resized: (page) => openMenu(page, '.reader-more'),
  },
  tabView('reader-text', 'Text', '.mail-text'),
  tabView('reader-files', '2 attachments', '.files'),
  tabView('reader-links', '1 link', '.link-text'),
  tabView('reader-headers', 'Headers', '.mail-headers'),
  tabView('reader-code', 'HTML code', '.mail-raw'),
  tabView('reader-source', 'Source', '.mail-raw'),
  {
    name: 'reader-spoofed',
    continues: true,
    open: (stage) => openNext(stage, SPOOFED, 'Your account'),
  },
  {
    name: 'reader-wide',
    continues: true,
    async open(stage) {
      await openNext(stage, WIDE, 'A wide table')
      await stage.page.frameLocator('.mail-frame').getByText('wide').first().waitFor()
    },
  },
  {
    name: 'reader-event',
    continues: true,
    async open(stage) {
      await openNext(stage, INVITATION, 'Invitation')
      await stage.page.locator('.event').waitFor()
    },
  },
  {
    name: 'reader-newsletter',
    continues: true,
    screenshotOnly: true,
    async open(stage) {
      await openNext(stage, newsletterMail(), 'Trains')
      await stage.page.frameLocator('.mail-frame').getByText('The Weekly').waitFor()
    },
  },
  {
    name: 'reader-phone-width',
    continues: true,
    screenshotOnly: true,
    open: ({ page }) => pressWide(page, 'Phone width'),
  },
  {
    name: 'reader-full-window',
    continues: true,
    screenshotOnly: true,
    async open({ page }) {
      await pressWide(page, 'Phone width')
      await pressWide(page, 'Full window')
    },
  },
  linkView('leave-plain', 'https://login.acme.test/verify?t=1', 'login.acme.test'),
  // The other links change only the fragment, and so stay in this document.
  ...[
    {
      ...linkView(
        'leave-doubtful',
        `http://bank.test@192.0.2.1:8080/${'x'.repeat(300)}`,
        '192.0.2.1',
      ),
      isMain: true as const,
    },
    linkView('leave-mail', 'mailto:ann@acme.test?subject=x', 'ann@acme.test'),
    linkView('leave-refused', 'javascript:alert(1)', 'This link cannot be opened here'),
    linkView('leave-nothing', '', 'This link is broken'),
  ].map((view) => ({ ...view, continues: true as const })),
]
