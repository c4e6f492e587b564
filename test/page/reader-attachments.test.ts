import { readFileSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { PHONE } from '../kit/page/browser.ts'
import { mailboxOf, opener, waitForInbox } from '../kit/page/inbox.ts'
import { mailWithFiles, png, textMail } from '../kit/page/mails.ts'
import { openPages } from '../kit/page/pages.ts'

const { app, visit } = openPages()

/** Sends a mail with this subject, and opens it. */
async function read(page: Page, raw: string, subject: string): Promise<void> {
  const { email } = await mailboxOf(page)
  expect(await app().mail(email, raw)).toBe(250)
  await opener(page, subject).click()
  await page
    .locator('article.reader[aria-busy=false]')
    .filter({ has: page.getByRole('heading', { name: subject }) })
    .waitFor()
}

const tab = (page: Page, name: string) => page.getByRole('tab', { name, exact: true })
const item = (page: Page, name: string) => page.getByRole('listitem').filter({ hasText: name })

async function saved(page: Page, button: Locator): Promise<{ name: string; bytes: Buffer }> {
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()])
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) }
}

const bytes = Uint8Array.from({ length: 70_000 }, (_, at) => (at * 7) % 256)

test('attachments have a view of their own, and are saved byte for byte under their names; so are embedded images and the message itself', async () => {
  const page = await visit('/')
  await waitForInbox(page)
  const file = { name: 'data set.bin', type: 'application/x-thing', bytes }
  await read(page, mailWithFiles('<p>Hi.</p>', [file], { subject: 'Data' }), 'Data')
  await tab(page, '1 attachment').click()
  const set = item(page, 'data set.bin')
  await set.getByText('application/x-thing · 70 kB').waitFor()
  const got = await saved(page, set.getByRole('button'))
  expect(got.name).toBe('data set.bin')
  expect(got.bytes.equals(bytes)).toBeTruthy()
  await set.getByText('data set.bin saved').waitFor()

  const picture = { name: 'a.png', type: 'image/png', bytes: png(2, 2, [0, 0, 0]), id: 'a@b' }
  const embedding = mailWithFiles('<img src="cid:a@b">', [picture], { subject: 'Picture' })
  await read(page, embedding, 'Picture')
  await tab(page, '1 inline image').click()
  const inline = await saved(page, page.getByRole('button', { name: 'Save: a.png' }))
  expect(inline.bytes.equals(picture.bytes)).toBeTruthy()

  const raw = textMail('Hi.', { subject: 'Your order: 1/2' })
  await read(page, raw, 'Your order')
  const message = await saved(page, page.getByRole('button', { name: /^Save as \.eml/ }))
  expect(message.name).toBe('Your order 1 2.eml')
  expect(message.bytes.toString().endsWith(raw)).toBeTruthy()
})

test('attachments that may be harmful are marked; all are named by their type, shown small if they are images, and saved together', async () => {
  const page = await visit('/')
  await waitForInbox(page)
  const harmful = mailWithFiles(
    '<p>Hi.</p>',
    [
      { name: 'invoice.pdf.exe', type: 'application/pdf', bytes },
      { name: 'plan.docm', type: 'application/msword', bytes },
      { name: 'page.html', type: 'text/html', bytes },
      { name: 'cat.png', type: 'image/png', bytes },
    ],
    { subject: 'Harmful' },
  )
  await read(page, harmful, 'Harmful')
  await tab(page, '4 attachments').click()
  await page.getByText('The last one counts: .exe').waitFor()
  const risks: number[] = []
  for (const name of ['invoice.pdf.exe', 'plan.docm', 'page.html', 'cat.png'])
    risks.push(await item(page, name).locator('.file-risk').count())
  expect(risks).toStrictEqual([2, 1, 1, 0])

  const several = mailWithFiles(
    '<p>Hi.</p>',
    [
      { name: 'terms.pdf', type: 'application/pdf', bytes },
      { name: 'a.png', type: 'image/png', bytes: png(40, 20, [200, 0, 0]) },
      { name: 'fake.png', type: 'image/png', bytes },
    ],
    { subject: 'Several' },
  )
  await read(page, several, 'Several')
  await tab(page, '3 attachments').click()
  await page.getByText('PDF · 70 kB').waitFor()
  const picture = item(page, 'a.png').locator('img')
  await picture.waitFor()
  await expect.poll(async () => (await picture.getAttribute('src')) ?? '').toMatch(/^blob:/)
  await item(page, 'fake.png').locator('img').waitFor({ state: 'detached' })
  const names: string[] = []
  page.on('download', (download) => names.push(download.suggestedFilename()))
  await page.getByRole('button', { name: 'Save all' }).click()
  await expect.poll(() => names.toSorted()).toStrictEqual(['a.png', 'fake.png', 'terms.pdf'])
})

test('attachments are also below the message: images small, and enlarged by a click; what may be harmful is saved only from the list', async () => {
  const page = await visit('/')
  await waitForInbox(page)
  const files = [
    { name: 'sea.png', type: 'image/png', bytes: png(600, 300, [0, 90, 160]) },
    { name: 'terms.pdf', type: 'application/pdf', bytes },
    { name: 'invoice.pdf.exe', type: 'application/octet-stream', bytes },
  ]
  await read(page, mailWithFiles('<p>Hi.</p>', files, { subject: 'Strip' }), 'Strip')
  const strip = page.getByRole('list', { name: '3 attachments' })
  const entry = (name: string) => strip.getByRole('listitem').filter({ hasText: name })
  await strip.getByRole('button', { name: 'Enlarge sea.png' }).click()
  const large = page.getByRole('dialog', { name: 'sea.png' }).locator('img')
  await large.waitFor()
  await expect.poll(() => large.boundingBox()).toMatchObject({ width: 600, height: 300 })
  const got = await saved(page, page.getByRole('dialog').getByRole('button', { name: /^Save/ }))
  expect(got.bytes.equals(files[0]?.bytes ?? Buffer.alloc(0))).toBeTruthy()
  await page.keyboard.press('Escape')
  await large.waitFor({ state: 'detached' })
  expect((await saved(page, entry('terms.pdf').getByRole('button'))).name).toBe('terms.pdf')
  await entry('invoice.pdf.exe').getByRole('button').click()
  await page.getByText('The last one counts: .exe').waitFor()
  await expect.poll(() => strip.count()).toBe(0)
})

test('of many attached images, twelve are shown small', async () => {
  const page = await visit('/')
  await waitForInbox(page)
  const requested = new Set<string>()
  page.on('request', (request) => {
    if (request.url().includes('/api/attachment')) requested.add(request.url())
  })
  const files = Array.from({ length: 14 }, (_, at) => ({
    name: `${at}.png`,
    type: 'image/png',
    bytes: png(8, 8, [at, 90, 160]),
  }))
  await read(page, mailWithFiles('<p>Hi.</p>', files, { subject: 'Album' }), 'Album')
  const strip = page.getByRole('list', { name: '14 attachments' })
  await strip.locator('.picture').nth(11).waitFor()
  // All are requested at once.
  expect(requested.size).toBe(12)
  await tab(page, '14 attachments').click()
  await page.locator('.file-list .picture').nth(11).waitFor()
  expect(await page.locator('.file-list .file').count()).toBe(14)
  expect(requested.size).toBe(12)
})

test('an invitation is one attachment, with a card that says when and where', async () => {
  const page = await visit('/', { timezoneId: 'Europe/Berlin' })
  await waitForInbox(page)
  const invitation = readFileSync(
    new URL('../../src/mime/fixtures/calendar-invite.eml', import.meta.url),
    'utf8',
  )
  const more = 'LOCATION:Room 1\nORGANIZER;CN=Dana:mailto:dana@acme.test\nSUMMARY'
  await read(page, invitation.replace('SUMMARY', more), 'Invitation')
  const card = page.getByRole('region', { name: 'Invitation' })
  await expect.poll(() => card.locator('.event-title').innerText()).toBe('Stand-up')
  const facts = card.locator('dd')
  await expect
    .poll(() => facts.allInnerTexts())
    .toStrictEqual(['Mon, March 9, 2026 at 10:00 AM GMT+1', 'Room 1', 'Dana <dana@acme.test>'])
  const file = await saved(page, card.getByRole('button', { name: /^Save .ics/ }))
  expect(file.name).toMatch(/\.ics$/)
  expect(file.bytes.toString()).toContain('BEGIN:VEVENT')
  await tab(page, '1 attachment').waitFor()
  await page.locator('.mail-files').getByText('1 attachment').waitFor({ state: 'attached' })
  await page.setViewportSize(PHONE)
  const widths = await card.evaluate((one) =>
    [one, ...one.querySelectorAll('dd')].map(({ clientWidth }) => clientWidth),
  )
  expect(Math.min(...widths), 'the facts are squeezed').toBeGreaterThan(PHONE.width / 2)
})
