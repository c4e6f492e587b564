import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'
import { describe, test, vi } from 'vitest'
import { row, waitForInbox } from './support/inbox.ts'
import { mailWithFiles, png, textMail } from './support/mails.ts'
import { openPages } from './support/pages.ts'

const { app, visit } = openPages()

/** A page with this mail opened. */
async function read(raw: string): Promise<Page> {
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  assert.equal(await app().mail(email, raw), 250)
  await row(page, /./).locator('.mail-open').click()
  await page.locator('article.reader[aria-busy=false]').waitFor()
  return page
}

const tab = (page: Page, name: string) => page.getByRole('tab', { name, exact: true })

async function saved(page: Page, button: Locator): Promise<{ name: string; bytes: Buffer }> {
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()])
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) }
}

describe('attachments', () => {
  const bytes = Uint8Array.from({ length: 70_000 }, (_, at) => (at * 7) % 256)

  test('have a view of their own, and are saved byte for byte under their names', async () => {
    const file = { name: 'data set.bin', type: 'application/x-thing', bytes }
    const page = await read(mailWithFiles('<p>Hi.</p>', [file]))
    await tab(page, '1 attachment').click()
    const item = page.getByRole('listitem').filter({ hasText: 'data set.bin' })
    await item.getByText('application/x-thing · 70 kB').waitFor()
    const got = await saved(page, item.getByRole('button'))
    assert.equal(got.name, 'data set.bin')
    assert.ok(got.bytes.equals(bytes))
    await item.getByText('data set.bin saved').waitFor()
  })
  test('that may be harmful are marked', async () => {
    const page = await read(
      mailWithFiles('<p>Hi.</p>', [
        { name: 'invoice.pdf.exe', type: 'application/pdf', bytes },
        { name: 'plan.docm', type: 'application/msword', bytes },
        { name: 'page.html', type: 'text/html', bytes },
        { name: 'cat.png', type: 'image/png', bytes },
      ]),
    )
    await tab(page, '4 attachments').click()
    const words = async (name: string) =>
      (
        await page
          .getByRole('listitem')
          .filter({ hasText: name })
          .locator('.file-risk')
          .allInnerTexts()
      ).length
    assert.deepEqual(
      [
        await words('invoice.pdf.exe'),
        await words('plan.docm'),
        await words('page.html'),
        await words('cat.png'),
      ],
      [2, 1, 1, 0],
    )
    await page.getByText('The last one counts: .exe').waitFor()
  })
  test('that are embedded images are listed separately', async () => {
    const picture = { name: 'a.png', type: 'image/png', bytes: png(2, 2, [0, 0, 0]), id: 'a@b' }
    const page = await read(mailWithFiles('<img src="cid:a@b">', [picture]))
    await tab(page, '1 inline image').click()
    const got = await saved(page, page.getByRole('button', { name: 'Save: a.png' }))
    assert.ok(got.bytes.equals(picture.bytes))
  })
  test('are named by their type, shown small if they are images, and saved together', async () => {
    const page = await read(
      mailWithFiles('<p>Hi.</p>', [
        { name: 'terms.pdf', type: 'application/pdf', bytes },
        { name: 'a.png', type: 'image/png', bytes: png(40, 20, [200, 0, 0]) },
        { name: 'fake.png', type: 'image/png', bytes },
      ]),
    )
    await tab(page, '3 attachments').click()
    await page.getByText('PDF · 70 kB').waitFor()
    const item = (name: string) => page.getByRole('listitem').filter({ hasText: name })
    const picture = item('a.png').locator('img')
    await picture.waitFor()
    assert.match((await picture.getAttribute('src')) ?? '', /^data:image\/png;base64,/)
    await item('fake.png').locator('img').waitFor({ state: 'detached' })
    const names: string[] = []
    page.on('download', (download) => names.push(download.suggestedFilename()))
    await page.getByRole('button', { name: 'Save all' }).click()
    await vi.waitFor(
      () => assert.deepEqual(names.sort(), ['a.png', 'fake.png', 'terms.pdf']),
      30_000,
    )
  })
  test('include the message itself', async () => {
    const raw = textMail('Hi.', { subject: 'Your order: 1/2' })
    const page = await read(raw)
    const { name, bytes } = await saved(page, page.getByRole('button', { name: /^Save as \.eml/ }))
    assert.equal(name, 'Your order 1 2.eml')
    assert.ok(bytes.toString().endsWith(raw))
  })
})
