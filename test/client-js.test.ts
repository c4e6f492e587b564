import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  type MailEvent,
  Mayfly,
  MayflyError,
  MayflyTimeoutError,
} from '../clients/js/src/mayfly.ts'
import { type App, startApp } from './kit/app/app.ts'
import { waitForLongPolls } from './kit/http/api-client.ts'
import { caught, codeOf } from './kit/http/client-errors.ts'
import { openTcpProxy } from './kit/http/tcp-proxy.ts'
import { waitUntil } from './kit/wait-until.ts'

let app: App
let mayfly: Mayfly
beforeAll(async () => {
  app = await startApp()
  mayfly = new Mayfly({ url: app.url })
})
afterAll(() => app.stop())

interface MailText {
  from?: string
  subject?: string
  text?: string
}

async function send(
  to: string,
  { from = 'ann@sender.test', subject = 'Hi', text = 'Hi.' }: MailText,
) {
  const raw = `From: ${from}\r\nTo: ${to}\r\nSubject: ${subject}\r\n\r\n${text}\r\n`
  expect(await app.mail(to, raw)).toBe(250)
}

const CODE = { subject: 'Sign in', text: 'Your code is 493027.' }
const LINK = {
  subject: 'Welcome',
  text: 'Confirm your address: https://shop.test/verify?t=1',
}

describe('waitForMessage', () => {
  test('returns a message that arrives later', async () => {
    const mailbox = await mayfly.createMailbox({ prefix: 'later', domain: 'box.test' })
    expect(mailbox.email).toBe('later@box.test')
    const waiting = mailbox.waitForMessage()
    await waitForLongPolls(1, app)
    await send(mailbox.email, { subject: 'Hello', text: 'A body.' })
    const { subject, body_text: text } = await waiting
    expect([subject, text?.trim()]).toStrictEqual(['Hello', 'A body.'])
  })

  test('returns each message once, the oldest first', async () => {
    const mailbox = await mayfly.createMailbox()
    for (const subject of ['one', 'two']) await send(mailbox.email, { subject })
    expect((await mailbox.waitForMessage()).subject).toBe('one')
    expect((await mailbox.waitForMessage()).subject).toBe('two')
    const third = mailbox.waitForMessage()
    await waitForLongPolls(1, app)
    await send(mailbox.email, { subject: 'three' })
    expect((await third).subject).toBe('three')
  })

  test('selects by sender and subject, also messages older than the last one returned', async () => {
    const mailbox = await mayfly.createMailbox()
    await send(mailbox.email, { from: 'a@mail.shop.test', subject: 'Order 1' })
    await send(mailbox.email, { from: 'b@other.test', subject: 'Invoice' })
    expect((await mailbox.waitForMessage({ subject: 'INVOICE' })).subject).toBe('Invoice')
    expect((await mailbox.waitForMessage({ from: 'shop.test' })).subject).toBe('Order 1')
  })

  test('passes over a message that somebody else deletes before it is read', async () => {
    const created = await mayfly.createMailbox()
    for (const subject of ['deleted', 'kept']) await send(created.email, { subject })
    const deleteFirst: typeof fetch = async (url, options) => {
      const isRead = String(url).includes('/read-mail')
      if (isRead) await created.delete(await created.messages({ subject: 'deleted' }))
      return await fetch(url, options)
    }
    const client = new Mayfly({ url: app.url, fetch: deleteFirst })
    const mailbox = await client.openMailbox(created.token)
    expect((await mailbox.waitForMessage()).subject).toBe('kept')
  })

  test('throws an error of its own in the end, which lists the mailbox', async () => {
    const mailbox = await mayfly.createMailbox()
    await send(mailbox.email, { subject: 'Hello' })
    const error = await caught(mailbox.waitForMessage({ from: 'shop.test', timeout: 200 }))
    expect.assert(error instanceof MayflyTimeoutError)
    expect(error.message).toBe(
      `No message from shop.test at ${mailbox.email} within 200 ms; the mailbox has “Hello” from ann@sender.test`,
    )
  })

  test('ends with the reason of the signal', async () => {
    const mailbox = await mayfly.createMailbox()
    const controller = new AbortController()
    const waiting = caught(mailbox.waitForMessage({ signal: controller.signal }))
    await waitForLongPolls(1, app)
    controller.abort(new Error('not needed any more'))
    expect((await waiting).message).toBe('not needed any more')
    await waitForLongPolls(0, app)
  })
})

test('waitForCode and waitForLink skip messages without one', async () => {
  const mailbox = await mayfly.createMailbox()
  for (const mail of [{ subject: 'News' }, CODE, LINK]) await send(mailbox.email, mail)
  expect(await mailbox.waitForLink()).toBe('https://shop.test/verify?t=1')
  expect(await mailbox.waitForCode()).toBe('493027')
  expect(await caught(mailbox.waitForCode({ timeout: 100 }))).toBeInstanceOf(MayflyTimeoutError)
  expect((await mailbox.waitForMessage()).subject).toBe('News')
  await send(mailbox.email, { ...CODE, text: 'Your code is 118822.' })
  expect(await mailbox.waitForCode()).toBe('118822')
})

test('parallel waits return a message each', async () => {
  const mailbox = await mayfly.createMailbox()
  const numbers = [101, 102, 103]
  const codes = numbers.map(() => mailbox.waitForCode())
  const messages = numbers.map(() => mailbox.waitForMessage({ subject: 'News' }))
  await waitForLongPolls(6, app)
  for (const number of numbers) {
    await send(mailbox.email, { ...CODE, text: `Your code is 118${number}.` })
    await send(mailbox.email, { subject: `News ${number}` })
  }
  expect((await Promise.all(codes)).sort()).toStrictEqual(['118101', '118102', '118103'])
  const subjects = (await Promise.all(messages)).map(({ subject }) => subject)
  expect(subjects.sort()).toStrictEqual(['News 101', 'News 102', 'News 103'])
})

test('a message with a code and a link is returned once, by waitForCodeAndLink with both', async () => {
  const mailbox = await mayfly.createMailbox()
  const both = { ...CODE, text: `${CODE.text}\r\n\r\n${LINK.text}` }
  for (const mail of [CODE, LINK, both, both]) await send(mailbox.email, mail)
  const link = 'https://shop.test/verify?t=1'
  expect(await mailbox.waitForCodeAndLink()).toStrictEqual({ code: '493027', link })
  expect(await mailbox.waitForCodeAndLink()).toStrictEqual({ code: '493027', link })
  expect(await mailbox.waitForLink()).toBe(link)
  const error = await caught(mailbox.waitForLink({ timeout: 100 }))
  const listed = [
    '“Sign in” from ann@sender.test (already returned)',
    '“Sign in” from ann@sender.test (already returned)',
    '“Welcome” from ann@sender.test (already returned)',
    '“Sign in” from ann@sender.test',
  ]
  expect(error.message).toMatch(`; the mailbox has ${listed.join(', ')}`)
})

describe('expectNoMessage', () => {
  test('passes if nothing that matches comes, messages returned before apart', async () => {
    const mailbox = await mayfly.createMailbox()
    await send(mailbox.email, CODE)
    await mailbox.waitForCode()
    await mailbox.expectNoMessage({ timeout: 100 })
    await mailbox.expectNoMessage({ timeout: 0 })
  })

  test('fails on a message that is there or arrives', async () => {
    const mailbox = await mayfly.createMailbox()
    const waiting = caught(mailbox.expectNoMessage())
    await waitForLongPolls(1, app)
    await send(mailbox.email, CODE)
    expect([(await waiting).message, codeOf(await waiting)]).toStrictEqual([
      `Unexpected message at ${mailbox.email}: “Sign in” from ann@sender.test`,
      'unexpected_message',
    ])
    const other = await mayfly.createMailbox()
    await send(other.email, CODE)
    expect(codeOf(await caught(other.expectNoMessage({ timeout: 0 })))).toBe('unexpected_message')
  })

  test('fails if the server no longer responds', async () => {
    // Silent during the wait, then gone.
    const silent: typeof fetch = (url, { signal, ...init } = {}) => {
      if (/create-session/.test(String(url))) return fetch(url, init)
      if (!/wait=/.test(String(url))) return Promise.reject(new TypeError('fetch failed'))
      return once(signal as EventTarget, 'abort').then(() => Promise.reject(signal?.reason))
    }
    const mailbox = await new Mayfly({ url: app.url, fetch: silent }).createMailbox()
    expect(codeOf(await caught(mailbox.expectNoMessage({ timeout: 100 })))).toBe('network')
  })
})

test('messages, read and attachment return what was received', async () => {
  const mailbox = await mayfly.createMailbox()
  const raw = [
    'From: ann@sender.test',
    'Subject: Report',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b\r\nContent-Type: text/plain\r\n\r\nSee the file.',
    '--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=r.pdf',
    'Content-Transfer-Encoding: base64\r\n\r\nAAEC/w==',
    '--b--\r\n',
  ].join('\r\n')
  expect(await app.mail(mailbox.email, raw)).toBe(250)
  await send(mailbox.email, CODE)
  const subjects = (await mailbox.messages()).map(({ subject }) => subject)
  expect(subjects).toStrictEqual(['Sign in', 'Report'])
  const [listed] = await mailbox.messages({ subject: 'report' })
  const message = await mailbox.read(listed ?? 0)
  expect(message.attachments.map(({ filename }) => filename)).toStrictEqual(['r.pdf'])
  expect([...(await mailbox.attachment(message, 0))]).toStrictEqual([0, 1, 2, 255])
  expect(new TextDecoder().decode(await mailbox.raw(message))).toMatch(/\r\nAAEC\/w==\r\n--b--/)
  const names = (await mailbox.headers(message)).map(({ name }) => name.toLowerCase())
  expect(names.slice(-3)).toStrictEqual(['from', 'subject', 'content-type'])
})

test('delete takes a message or several', async () => {
  const mailbox = await mayfly.createMailbox()
  for (const subject of ['one', 'two', 'three']) await send(mailbox.email, { subject })
  const [last, ...others] = await mailbox.messages()
  expect.assert(last)
  expect(await mailbox.delete(last)).toBe(1)
  expect(codeOf(await caught(mailbox.delete(last)))).toBe('message_not_found')
  expect(await mailbox.delete([last.id, ...others])).toBe(2)
  expect(await mailbox.delete([])).toBe(0)
  expect(await mailbox.messages()).toStrictEqual([])
})

test('a mailbox declared with await using ends with its block', async () => {
  let token = ''
  {
    await using mailbox = await mayfly.createMailbox()
    token = mailbox.token
  }
  expect(codeOf(await caught(mayfly.openMailbox(token)))).toBe('invalid_token')
  await using ended = await mayfly.createMailbox()
  await ended.end()
})

test('update changes the rules and the label, and settings tells what they refused', async () => {
  const mailbox = await mayfly.createMailbox({ label: 'sign-up', max_messages: 5 })
  const rules = { only_from: ['shop.test'], max_messages: null, refused: 0 }
  const changed = await mailbox.update({ only_from: ['shop.test'], clear: ['max_messages'] })
  expect([changed.rules, changed.label]).toStrictEqual([rules, 'sign-up'])
  const refused = 'From: ann@sender.test\r\nSubject: Hi\r\n\r\nHi.\r\n'
  expect(await app.mail(mailbox.email, refused)).toBe(550)
  expect((await mailbox.settings()).rules).toStrictEqual({ ...rules, refused: 1 })
})

test('has_link selects messages and events with a link to follow', async () => {
  const mailbox = await mayfly.createMailbox()
  for (const mail of [CODE, LINK, { text: 'See https://news.test/today' }]) {
    await send(mailbox.email, mail)
  }
  expect(await mailbox.waitForLink({ kind: 'other' })).toBe('https://news.test/today')
  const subjects = async () =>
    (await mailbox.messages({ has_link: true })).map(({ subject }) => subject)
  await waitUntil(async () => (await subjects()).length > 0)
  expect(await subjects()).toStrictEqual(['Welcome'])
  for await (const event of mailbox.events({ since_id: 0, has_link: true })) {
    expect.assert(event.type === 'message')
    expect(event.message.subject).toBe('Welcome')
    break
  }
})

test('domains lists what createMailbox can be given', async () => {
  const { domains, gmail_accounts: accounts } = await mayfly.domains()
  expect(domains.map(({ domain }) => domain).sort()).toStrictEqual(['box.test', 'pool.test'])
  expect(accounts).toStrictEqual([])
})

test('extend moves the expiry, a token opens the mailbox again, and end deletes it', async () => {
  const mailbox = await mayfly.createMailbox({ ttl: 120 })
  const before = mailbox.expiresAt
  await mailbox.extend({ ttl: 3_600 })
  expect.assert(mailbox.expiresAt.getTime() > before.getTime() + 3_000_000)
  const again = await mayfly.openMailbox(mailbox.token)
  expect([again.email, again.expiresAt]).toStrictEqual([mailbox.email, mailbox.expiresAt])
  await again.end()
  const error = await caught(mailbox.messages())
  expect.assert(error instanceof MayflyError && !(error instanceof MayflyTimeoutError))
  expect([error.status, error.code]).toStrictEqual([401, 'invalid_token'])
  expect(error.requestId ?? '').toMatch(/^[\w-]{16}$/)
})

test('events resume after a lost connection without a gap, and end with the mailbox', async () => {
  const proxy = await openTcpProxy(app.httpPort)
  onTestFinished(proxy.close)
  const mailbox = await new Mayfly({ url: proxy.url }).createMailbox()
  await send(mailbox.email, { subject: 'before' })
  const events = mailbox.events()
  const messages = async () => {
    let event: MailEvent | undefined
    do event = (await events.next()).value ?? undefined
    while (event?.type === 'updated')
    return event?.type === 'message' ? event.message.subject : event?.type
  }
  const first = messages()
  await waitForLongPolls(1, app)
  await send(mailbox.email, { subject: 'one' })
  expect(await first).toBe('one')
  proxy.cut()
  await send(mailbox.email, { subject: 'two' })
  expect(await messages()).toBe('two')
  await (await mayfly.openMailbox(mailbox.token)).end()
  expect(await messages()).toBe('end')
  expect(await messages()).toBeUndefined()
})

test('events of several mailboxes name theirs, resume, and end with the last of them', async () => {
  const proxy = await openTcpProxy(app.httpPort)
  onTestFinished(proxy.close)
  const client = new Mayfly({ url: proxy.url })
  const mailboxes = [await mayfly.createMailbox(), await mayfly.createMailbox()] as const
  const [first, second] = mailboxes
  const seen: string[] = []
  const events = (async () => {
    for await (const event of client.events(mailboxes, { since_id: 0 })) {
      if (event.type === 'message') seen.push(`${event.message.subject} ${event.email}`)
      if (event.type === 'end') seen.push(`${event.reason} ${event.email}`)
    }
  })()
  const expected: string[] = []
  const next = async (line: string) => {
    expected.push(line)
    await waitUntil(() => seen.length === expected.length)
    expect(seen).toStrictEqual(expected)
  }
  await send(first.email, { subject: 'one' })
  await next(`one ${first.email}`)
  await first.end()
  await next(`deleted ${first.email}`)
  proxy.cut()
  await send(second.email, { subject: 'two' })
  await next(`two ${second.email}`)
  await second.end()
  await next(`deleted ${second.email}`)
  await events
})

test('leaving a loop over events closes the stream', async () => {
  const mailbox = await mayfly.createMailbox()
  await send(mailbox.email, CODE)
  for await (const event of mailbox.events({ since_id: 0 })) {
    if (event.type === 'message') break
  }
  await waitForLongPolls(0, app)
})
