import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accessibilityTree, LISTEN } from '../kit/page/accessibility-tree.ts'
import { opener, row, waitForInbox } from '../kit/page/inbox.ts'
import { welcomeMail } from '../kit/page/mails.ts'
import { openPages } from '../kit/page/pages.ts'
import { ADMIN_ENV, openView, signIn } from '../kit/page/views/admin.ts'
import { enterKey } from '../kit/page/views/key.ts'
import { type KeyRing, openKeyRing } from '../kit/shop/keys.ts'
import { FAKE_SHOP } from '../kit/shop/shop-client.ts'
import { waitUntil } from '../kit/wait-until.ts'

const { app, visit, allow } = openPages({ ...FAKE_SHOP, ...ADMIN_ENV })
let ring: KeyRing
beforeAll(async () => {
  ring = await openKeyRing(app())
})
afterAll(() => ring.close())

/** The accessibility tree gets these lines in this order, perhaps with others between them. */
async function expectInOrder(page: Page, expected: readonly string[]): Promise<void> {
  const look = async () => {
    const lines = await accessibilityTree(page)
    let from = 0
    const missing = expected.filter((line) => {
      const at = lines.indexOf(line, from)
      if (at >= 0) from = at + 1
      return at < 0
    })
    return { missing, among: missing.length > 0 ? lines : [] }
  }
  await expect.poll(look).toStrictEqual({ missing: [], among: [] })
}

/** This was read aloud; nothing came too suddenly to be read. */
async function hear(page: Page, text: string): Promise<void> {
  const announced = async () => (await page.evaluate('announced')) as string[]
  await waitUntil(async () => (await announced()).some((one) => one.includes(text))).catch(
    async (cause) => {
      throw new Error(`${text} is not among: ${(await announced()).join(' | ')}`, { cause })
    },
  )
  // What is loading says so by aria-busy.
  const unheard = (await page.evaluate('unheard')) as string[]
  expect(unheard.filter((one) => one !== 'Loading…')).toStrictEqual([])
}

test('a mail is announced and opened with the keyboard, its parts have names and roles, and its deletion is announced and undone', async () => {
  const page = await visit('/')
  const { email } = await waitForInbox(page)
  await page.evaluate(LISTEN)
  await expectInOrder(page, [
    'button Skip to messages',
    'banner',
    'navigation Site',
    'main',
    'heading Inbox',
    'region Your address',
    'button Copy',
    'button Extend',
    'region Messages',
    'heading Messages',
    'status',
    'heading Waiting for mail',
    'contentinfo',
    'combobox Theme',
    'combobox Language',
  ])
  await app().mail(email, welcomeMail())
  await hear(page, 'New message from Acme: Confirm your address at Acme')
  await row(page, 'Confirm your address').waitFor()
  await opener(page, 'Confirm your address').focus()
  await page.keyboard.press('Enter')
  await page.frameLocator('.mail-frame').getByText('valid for ten minutes').waitFor()
  await expectInOrder(page, [
    'region Messages',
    'checkbox Select all',
    'search',
    'searchbox Search mail',
    'list',
    'listitem',
    'checkbox Select “Confirm your address at Acme”',
    'button Copy code 482913',
    'region Message',
    'article Confirm your address at Acme',
    'heading Confirm your address at Acme [focused]',
    'button Print',
    'button Delete',
    'region Your code',
    'region Confirmation link',
    'link Open',
    'tablist View',
    'tab Message [selected]',
    'tab Text',
    'tabpanel Message',
    'button Load once',
    'Iframe Message: Confirm your address at Acme',
    'list 2 attachments',
  ])
  await page.keyboard.press('#')
  await hear(page, 'Message deleted')
  await page.getByRole('button', { name: 'Undo' }).click()
  await row(page, 'Confirm your address').waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('messages')
})

test('copying, creating, switching and deleting an address are announced or move the focus, and dialogs have names', async () => {
  const page = await visit('/', { permissions: ['clipboard-read', 'clipboard-write'] })
  const { email } = await waitForInbox(page)
  await page.evaluate(LISTEN)
  await page.locator('.address-line').getByRole('button', { name: 'Copy' }).click()
  await hear(page, 'Address copied')
  await page.getByRole('button', { name: 'Choose a name' }).click()
  await page.getByLabel('Name').fill('a..b')
  await page.getByText('No two dots').waitFor()
  await page.getByRole('option', { name: 'Loading domains' }).waitFor({ state: 'detached' })
  await expectInOrder(page, [
    'dialog Choose your address',
    'heading Choose your address',
    'textbox Name [focused, invalid]',
    'combobox Domain',
    'combobox Expires after',
    'button Create address [disabled]',
  ])
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'New address' }).click()
  await page.getByText('1 more address').click()
  await expectInOrder(page, [
    'DisclosureTriangle 1 more address [expanded, focused]',
    'list',
    `button Delete ${email}`,
  ])
  await page.getByRole('button', { name: `Delete ${email}`, exact: true }).click()
  await expectInOrder(page, [
    'dialog Delete this address?',
    'heading Delete this address? [focused]',
    'button Delete',
    'button Cancel',
  ])
})

test('keys, orders and the operator’s form name their fields, and errors are announced', async () => {
  allow({ complaint: /401/ })
  const key = await ring.issue({ requests: 2_000 })
  const page = await visit('/key')
  await page.getByLabel('Your key').waitFor()
  await page.evaluate(LISTEN)
  await enterKey(page, 'mf_live_nothing')
  await hear(page, 'Unknown or revoked key')
  await enterKey(page, key.secret)
  await page.getByText('Last 30 days').waitFor()
  await expectInOrder(page, ['heading Starter [focused]', 'meter Total', 'tab curl [selected]'])

  await page.goto(`${app().url}/pricing`)
  await page.getByRole('button', { name: 'Buy Starter' }).waitFor()
  await expectInOrder(page, [
    'main',
    'textbox Email (optional)',
    'region Starter',
    'button Buy Starter',
  ])

  await page.goto(`${app().url}/admin`)
  await page.getByLabel('Admin token').waitFor()
  await page.evaluate(LISTEN)
  await signIn(page, 'wrong')
  await hear(page, 'This is not the admin token')
  await expectInOrder(page, ['textbox Admin token [invalid]', 'button Sign in'])
  await signIn(page)
  await openView(page, 'Domains')
  await expectInOrder(page, [
    'button Sign out',
    'navigation Views',
    'link Domains',
    'heading Domains [focused]',
    'list Domains',
    'listitem',
    'button Change box.test',
  ])
})
