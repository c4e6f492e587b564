import { expect } from 'vitest'
import { sharedBrowser } from '../page/browser.ts'
import { opener, waitForInbox } from '../page/inbox.ts'
import { connectSmtp } from '../smtp/smtp-client.ts'
import { MAIL } from './app.ts'

/** What a new user does: opens the page, which shows an address, sends a mail to it and reads it there. */
export async function readFirstMail({ url, smtpPort }: { url: string; smtpPort: number }) {
  const browser = await sharedBrowser()
  const page = await browser.newPage()
  try {
    await page.goto(url)
    const mailbox = await waitForInbox(page)
    const client = await connectSmtp(smtpPort)
    expect((await client.send({ to: [mailbox.email], raw: MAIL })).code).toBe(250)
    client.close()
    await opener(page, 'Hello').click()
    await page.locator('article.reader').getByText('Your code is 123456.').waitFor()
    return mailbox
  } finally {
    await page.context().close()
  }
}
