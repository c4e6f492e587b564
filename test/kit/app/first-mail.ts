import assert from 'node:assert/strict'
import { sharedBrowser } from '../page/support/browser.ts'
import { opener, waitForInbox } from '../page/support/inbox.ts'
import { MAIL } from './app.ts'
import { connectSmtp } from './smtp-client.ts'

/** What a new user does: opens the page, which shows an address, sends a mail to it and reads it there. */
export async function readFirstMail({ url, smtpPort }: { url: string; smtpPort: number }) {
  const browser = await sharedBrowser()
  const page = await browser.newPage()
  try {
    await page.goto(url)
    const mailbox = await waitForInbox(page)
    const client = await connectSmtp(smtpPort)
    assert.equal((await client.send({ to: [mailbox.email], raw: MAIL })).code, 250)
    client.close()
    await opener(page, 'Hello').click()
    await page.locator('article.reader').getByText('Your code is 123456.').waitFor()
    return mailbox
  } finally {
    await page.context().close()
  }
}
