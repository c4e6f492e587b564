import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { App } from '../app/app.ts'
import { connectSmtp } from '../smtp/smtp-client.ts'

/** Actions and observations of a visitor of the inbox. */

interface StoredMailbox {
  email: string
  token: string
  since: number
}

type Evaluating = { evaluate(expression: string): Promise<unknown> }

/** Stores these sessions, newest first, as the page does. */
export async function storeMailboxes(
  page: Evaluating,
  sessions: readonly { email: string; token: string }[],
): Promise<void> {
  const now = Date.now()
  const expires = new Date(now + 86_400_000)
  const entries = sessions.map(({ email, token }, index) => [
    `mayfly mailbox ${email}`,
    JSON.stringify({ email, token, expires, since: now - index }),
  ])
  await page.evaluate(
    `void Object.assign(localStorage, ${JSON.stringify(Object.fromEntries(entries))})`,
  )
}

/** The mailboxes stored by this browser, newest first. */
export async function storedMailboxes(page: Evaluating): Promise<StoredMailbox[]> {
  const found = await page.evaluate(`Object.entries({ ...localStorage })
    .filter(([key]) => key.startsWith('mayfly mailbox '))
    .map(([, value]) => JSON.parse(value))`)
  return (found as StoredMailbox[]).sort((a, b) => b.since - a.since)
}

/** The newest of them, as soon as there is one. */
export async function mailboxOf(page: Page): Promise<StoredMailbox> {
  await page.waitForFunction(() =>
    Object.keys(localStorage).some((key) => key.startsWith('mayfly mailbox ')),
  )
  const [first] = await storedMailboxes(page)
  expect.assert(first)
  return first
}

/** Opens the inbox and waits for its address and its stream. */
export async function waitForInbox(page: Page): Promise<{ email: string; token: string }> {
  await page.getByText('Live – new mail appears automatically').waitFor()
  return await mailboxOf(page)
}

/** Opens the inbox with this session, as if it had been created in this browser. */
export async function openMailbox(
  page: Evaluating & { goto(url: string): Promise<unknown> },
  app: App,
  session: { email: string; token: string },
): Promise<void> {
  await page.goto(`${app.url}/favicon.svg`)
  await storeMailboxes(page, [session])
  await page.goto(app.url)
}

interface PlainMail {
  subject?: string
  from?: string
  text?: string
}

export function plainMail({
  subject = 'Hello',
  from = 'Ann <ann@sender.test>',
  text = 'Hi.',
}: PlainMail) {
  return [`From: ${from}`, `Subject: ${subject}`, '', text, ''].join('\r\n')
}

/** Sends this many mails over one connection, newest last; the subjects are Mail 1, Mail 2 … */
export async function mailMany(app: App, to: string, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  await mailNumbers(app, to, numbers)
}

const CONNECTIONS = 8

/** The same over several connections, in any order, for large numbers. */
export async function mailConcurrently(app: App, to: string, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  const connections = Array.from({ length: CONNECTIONS }, (_, connection) =>
    numbers.filter((number) => number % CONNECTIONS === connection),
  )
  await Promise.all(connections.map((connection) => mailNumbers(app, to, connection)))
}

async function mailNumbers(app: App, to: string, numbers: number[]): Promise<void> {
  const client = await connectSmtp(app.smtpPort)
  for (const number of numbers) {
    const text = number % 5 === 0 ? `Your code is ${100_000 + number}.` : 'Hi.'
    const { code } = await client.send({
      to: [to],
      raw: plainMail({ subject: `Mail ${number}`, text }),
    })
    if (code !== 250) throw new Error(`mail ${number}: ${code}`)
  }
  client.close()
}

/** The rows that contain this text. */
export function row(page: Page, words: string | RegExp): Locator {
  return page.locator('.mail', { hasText: words })
}

/** The link that opens a message. */
export function opener(page: Page, words: string | RegExp): Locator {
  return row(page, words).locator('.mail-open')
}

export function reader(page: Page): Locator {
  return page.getByRole('region', { name: 'Message', exact: true })
}

/** The subjects in the mailbox according to the API, newest first. */
export async function subjects(app: App, token: string): Promise<string[]> {
  const response = await fetch(`${app.url}/api/check-mail?limit=500`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const { messages } = (await response.json()) as { messages: { subject: string }[] }
  return messages.map(({ subject }) => subject)
}

/** Resolves when the server has exactly these messages. */
export async function waitForSubjects(app: App, token: string, expected: string[]): Promise<void> {
  await expect.poll(() => subjects(app, token)).toStrictEqual(expected)
}

/** Opens a menu, if there is one at this size. */
export async function openMenu(page: Page, selector: string): Promise<void> {
  await closeMenu(page)
  const button = page.locator(selector)
  if (await button.isVisible()) await button.click()
}

/** Not by Escape, which leaves the message if no menu is open. */
export async function closeMenu(page: Page): Promise<void> {
  await page.evaluate(`document.querySelector(':popover-open')?.hidePopover()`)
}
