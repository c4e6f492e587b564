import type { Page } from 'playwright-core'
import { encode } from 'uqr'
import { expect, test } from 'vitest'
import { mailboxOf, storedMailboxes, waitForInbox } from '../kit/page/inbox.ts'
import { openPages } from '../kit/page/pages.ts'

const { app, visit, allow } = openPages()

const press = async (page: Page, name: string) => await page.getByRole('button', { name }).click()
/** Read once: it is removed before anything is shown. */
const hash = (page: Page) => page.evaluate('location.hash')
const shown = async (page: Page): Promise<string> => {
  const address = page.locator('#address').filter({ hasText: '@' })
  await address.waitFor()
  return (await address.textContent()) ?? ''
}

test('a phone opens the mailbox with the QR code, after a confirmation', async () => {
  const page = await visit('/')
  const { email, token } = await waitForInbox(page)
  await press(page, 'Open on a phone')
  const code = page.getByRole('img', { name: `QR code that opens ${email}` })
  const link = `${app().url}/#open=${token}`
  await code.locator('path[d^=M]').waitFor()
  await expect
    .poll(() => code.locator('path').getAttribute('d'))
    .toStrictEqual(squares(encode(link, { ecc: 'M', border: 4 }).data))

  const phone = await visit('/favicon.svg', { viewport: { width: 360, height: 740 } })
  await phone.goto(link)
  const dialog = phone.getByRole('dialog', { name: 'Open this address here?' })
  await dialog.getByText(email).waitFor()
  expect(await hash(phone), 'the token is gone from the address bar').toBe('')
  expect(await storedMailboxes(phone)).toStrictEqual([])
  await press(phone, 'Open here')
  await expect.poll(() => shown(phone)).toBe(email)
  await expect.poll(async () => (await mailboxOf(phone)).token).toStrictEqual(token)

  // There the rarer actions are behind one button.
  const rare = ['Open on a phone', 'Delete address'].map((name) =>
    phone.getByRole('button', { name }),
  )
  for (const one of rare) expect(await one.isVisible()).toBe(false)
  await press(phone, 'More')
  for (const one of rare) await one.waitFor()
})

test('address and link are copied without the clipboard API, as over plain http', async () => {
  const page = await visit('/favicon.svg', { permissions: ['clipboard-read'] })
  await page.addInitScript({ content: HIDE_CLIPBOARD })
  await page.goto(`${app().url}/`)
  const { email, token } = await waitForInbox(page)
  await press(page, 'Copy')
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  await expect.poll(() => page.evaluate('hidden.readText()')).toBe(email)
  await press(page, 'Open on a phone')
  await page.getByText('127.0.0.1 works only on this device.').waitFor()
  await press(page, 'Copy link')
  await page.getByRole('dialog').getByRole('button', { name: 'Copied' }).waitFor()
  await expect.poll(() => page.evaluate('hidden.readText()')).toBe(`${app().url}/#open=${token}`)
})

/** Run in the page. */
const HIDE_CLIPBOARD = `
  hidden = navigator.clipboard
  Object.defineProperty(navigator, 'clipboard', { value: undefined })
`

test('a phone that declines gets its own address', async () => {
  const { email, token } = await app().session()
  const phone = await visit(`/#open=${token}`)
  await press(phone, 'Cancel')
  expect(await shown(phone)).not.toBe(email)
})

test('a phone shows that the link is truncated or corrupt, or that its mailbox no longer exists', async () => {
  allow({ complaint: /401/ })
  const notice = 'Dieser Link ist ungültig oder abgelaufen.'
  const phone = await visit('/favicon.svg', { locale: 'de' })
  // On the first visit: without a request, the page has to wait for its texts.
  for (const badToken of ['', 'x'.repeat(43)]) {
    await phone.evaluate('localStorage.clear()')
    await phone.goto('about:blank')
    await phone.goto(`${app().url}/#open=${badToken}`)
    await phone.getByText(notice).waitFor()
    expect(await hash(phone)).toBe('')
    await shown(phone)
  }
  const email = await shown(phone)
  for (const badToken of ['a b', 'x'.repeat(129)]) {
    await phone.evaluate(`(${FOLLOW_LINK})('#open=${badToken}', '${notice}')`)
    expect(await hash(phone)).toBe('')
    await expect.poll(() => shown(phone)).toBe(email)
  }
})

/** Run in the page: follows a link, and resolves when the notice appears, after the same one about the link before is gone. */
const FOLLOW_LINK = `(hash, notice) => new Promise((done) => {
  const isShown = () => document.querySelector('.toasts').textContent.includes(notice)
  let isGone = !isShown()
  const observer = new MutationObserver(() => {
    if (!isShown()) isGone = true
    else if (isGone) {
      observer.disconnect()
      done()
    }
  })
  observer.observe(document.body, { subtree: true, childList: true, characterData: true })
  location.hash = hash
})`

/** The SVG path that draws this pattern. */
function squares(rows: boolean[][]): string {
  let path = ''
  rows.forEach((row, y) => {
    let x = 0
    while (x < row.length) {
      const from = x
      while (row[x]) x += 1
      if (x > from) path += `M${from} ${y}h${x - from}v1h-${x - from}z`
      x += 1
    }
  })
  return path
}
