import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  address,
  type GmailFixture,
  openGmailFixture,
  rules,
  START,
} from '../../test/kit/gmail/gmail.ts'
import { secretHash } from '../base/id.ts'
import { readMetrics } from '../base/metrics.ts'
import { makeWaiterCounts, openMemoryBus } from '../bus/memory.ts'
import { makeRates, openMemoryLimit } from '../limit/memory.ts'
import type { FindMailBlock } from '../mail/blocking.ts'
import { forcePoll } from '../mail/list/check-mail.ts'
import type { FetchedRecipient, Recipient } from '../mail/rules/recipient.ts'
import { keyedTopic, type MailboxId } from '../mail/rules/session.ts'
import { accountMailDeps } from './fetch-mail.ts'
import type { ImapDeps } from './imap/options.ts'
import type { FetchedMail } from './rules.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }

const accountOf = (id: number) => ({ id, email: address('joe@gmail.com') })

let fixture: GmailFixture
let accountId: number
let mail: ImapDeps
beforeEach(async () => {
  fixture = await openGmailFixture(rules('joe@gmail.com'), rules('ann@gmail.com'))
  accountId = await fixture.idOf('joe@gmail.com')
  mail = { ...accountMailDeps(fixture.deps, accountOf(accountId)), random: () => 0.5, log }
})
afterEach(() => fixture.close())

let lastUid = 0
async function fetched(to: string[], raw = MAIL): Promise<FetchedMail> {
  lastUid += 1
  return {
    folder: 'INBOX',
    uid: lastUid,
    state: { uidValidity: 7, lastUid },
    recipients: identified(await mail.findAliases(to.map(address)), `mail ${lastUid}`),
    raw: new TextEncoder().encode(raw),
    receivedAt: new Date(START.getTime() + 1_000),
  }
}

const MAIL = [
  'Delivered-To: joe@gmail.com',
  'Return-Path: <bounce@shop.test>',
  'From: The Shop <hello@shop.test>',
  'To: joe+shop@gmail.com',
  'Subject: Welcome',
  '',
  'Hello.',
  '',
].join('\r\n')

function identified(recipients: readonly Recipient[], prefix: string): FetchedRecipient[] {
  return recipients.map((one) => ({ ...one, identity: `${prefix} ${one.address}` }))
}

const messages = (mailbox: MailboxId) =>
  fixture.other.listMessages(mailbox, { sinceId: 0, limit: 100 })

describe('fetched mail', () => {
  test('is listed in its session with the time at which the account received it', async () => {
    const { session } = await fixture.alias('joe@gmail.com', 'shop')
    fixture.pass(60_000)
    expect(await mail.receive(await fetched(['joe+shop@gmail.com']))).toBe('stored')
    const [message, ...others] = await messages(session.id)
    expect(others).toStrictEqual([])
    expect([
      message?.senderName,
      message?.senderEmail,
      message?.subject,
      message?.receivedAt,
    ]).toStrictEqual(['The Shop', 'hello@shop.test', 'Welcome', new Date(START.getTime() + 1_000)])
  })

  test('wakes waiters of the session and of its key, and none if it is already stored', async () => {
    const { session } = await fixture.alias('joe@gmail.com', 'shop', 'key-1')
    const one = await fetched(['joe+shop@gmail.com'])
    expect(await mail.receive(one)).toBe('stored')
    expect(fixture.woken).toStrictEqual([session.id, keyedTopic('key', 'key-1')])
    // The first call transferred the bytes.
    const raw = new TextEncoder().encode(MAIL)
    expect(await mail.receive({ ...one, raw })).toBe('known')
    expect(fixture.woken.length).toBe(2)
  })

  test('is counted by outcome', async () => {
    const values = () => {
      const metric = readMetrics().find(({ name }) => name === 'mayfly_imap_mails_total')
      return new Map(metric?.values.map(({ labels, value }) => [labels['outcome'], value]))
    }
    const before = values()
    await fixture.alias('joe@gmail.com', 'shop')
    const one = await fetched(['joe+shop@gmail.com'])
    for (let times = 0; times < 3; times += 1) {
      await mail.receive({ ...one, raw: new TextEncoder().encode(MAIL) })
    }
    const counted = ['stored', 'known'].map((at) => (values().get(at) ?? 0) - (before.get(at) ?? 0))
    expect(counted).toStrictEqual([1, 2])
  })

  test('of a blocked sender is not stored, and not fetched again', async () => {
    const { session } = await fixture.alias('joe@gmail.com', 'shop')
    const facts: unknown[] = []
    const findMailBlock: FindMailBlock = (found) => {
      facts.push({ ...found, readFrom: new Set(found.readFrom()) })
      return 'mail_from'
    }
    const { receive, readFolder } = accountMailDeps(
      { ...fixture.deps, findMailBlock },
      accountOf(accountId),
    )
    expect(await receive(await fetched(['joe+shop@gmail.com']))).toBe('blocked')
    expect(facts).toStrictEqual([
      { mailFrom: 'bounce@shop.test', readFrom: new Set(['hello@shop.test', '']) },
    ])
    expect(await messages(session.id)).toStrictEqual([])
    expect(await readFolder('INBOX')).toStrictEqual({ uidValidity: 7, lastUid })
  })

  test('for several aliases is listed in each session', async () => {
    const shop = await fixture.alias('joe@gmail.com', 'shop')
    const newsletter = await fixture.alias('joe@gmail.com', 'letters')
    const forBoth = await fetched(['joe+shop@gmail.com', 'joe+letters@gmail.com'])
    expect(await mail.receive(forBoth)).toBe('stored')
    for (const { session, token } of [shop, newsletter]) {
      const [message] = await messages(session.id)
      expect(message?.subject).toBe('Welcome')
      expect((await fixture.other.findSession(secretHash(token)))?.bytes).toBe(MAIL.length)
    }
  })

  test('is stored with an envelope that has no client, HELO or TLS', async () => {
    const { session } = await fixture.alias('joe@gmail.com', 'shop')
    for (const [head, mailFrom] of [
      [MAIL, 'bounce@shop.test'],
      [MAIL.replace('<bounce@shop.test>', '<>'), ''],
      [MAIL.replace('Return-Path: <bounce@shop.test>\r\n', ''), ''],
      [MAIL.replace('<bounce@shop.test>', 'bounce'), ''],
      [MAIL.replace('From:', 'Return-Path: <forged@x.test>\r\nFrom:'), 'bounce@shop.test'],
    ] as const) {
      await mail.receive(await fetched(['joe+shop@gmail.com'], head))
      const [newest] = await messages(session.id)
      const message = await fixture.other.findMessage(session.id, newest?.id ?? 0)
      const raw = await fixture.other.readRaw(message?.rawId ?? 0)
      expect(Buffer.from(raw?.bytes ?? []).toString()).toBe(head)
      const { clientIp, helo, mailFrom: from, tls, protocol } = raw ?? {}
      expect([clientIp, helo, from, tls, protocol]).toStrictEqual([
        '',
        '',
        mailFrom,
        undefined,
        'IMAP',
      ])
    }
  })

  test('for an expired session is stored for nobody', async () => {
    await fixture.alias('joe@gmail.com', 'shop')
    const expired = await fetched(['joe+shop@gmail.com'])
    fixture.pass(3_600_000)
    expect(await mail.receive(expired)).toBe('no_recipients')
    expect(fixture.woken).toStrictEqual([])
  })
})

test('only live aliases of this account are found, by their exact spelling', async () => {
  await fixture.alias('joe@gmail.com', 'abc')
  await fixture.alias('ann@gmail.com', 'abc')
  const found = async (...texts: string[]) =>
    (await mail.findAliases(texts.map(address))).map((one) => one.address)
  expect(await found('joe+abc@gmail.com')).toStrictEqual(['joe+abc@gmail.com'])
  const similar = ['joe+abcd@gmail.com', 'joe+ab@gmail.com', 'j.oe+abc@gmail.com', 'joe@gmail.com']
  expect(await found('ann+abc@gmail.com', ...similar)).toStrictEqual([])
  fixture.pass(3_600_000)
  expect(await found('joe+abc@gmail.com')).toStrictEqual([])
})

test('the folder state is saved, with a mail or without', async () => {
  expect(await mail.readFolder('INBOX')).toBeUndefined()
  await mail.saveFolder('INBOX', { uidValidity: 7, lastUid: 3 })
  expect(await mail.readFolder('INBOX')).toStrictEqual({ uidValidity: 7, lastUid: 3 })
  await fixture.alias('joe@gmail.com', 'shop')
  const one = await fetched(['joe+shop@gmail.com'])
  await mail.receive(one)
  expect(await mail.readFolder('INBOX')).toStrictEqual(one.state)
})

test('oldestAlias returns the creation time of the oldest live alias of this account', async () => {
  expect(await mail.oldestAlias()).toBeUndefined()
  await fixture.alias('ann@gmail.com', 'elder')
  fixture.pass(1_000)
  await fixture.alias('joe@gmail.com', 'young')
  expect(await mail.oldestAlias()).toStrictEqual(new Date(START.getTime() + 1_000))
})

test('the health of the account is saved in the store', async () => {
  await mail.reportHealth('failing', 'the server does not accept the login')
  const accounts = await fixture.other.listAccounts(START)
  expect(accounts.map(({ health, reason }) => `${health}: ${reason}`)).toStrictEqual([
    'failing: the server does not accept the login',
    'ok: ',
  ])
})

test('the mail log has each fetched mail once, and each that stays in the account', async () => {
  await fixture.alias('joe@gmail.com', 'shop')
  const lines: object[] = []
  let isBlocked = false
  const deps = {
    ...fixture.deps,
    findMailBlock: () => (isBlocked ? ('mail_from' as const) : undefined),
    mailLog: {
      add(source: object, result: string, describe: () => object) {
        const { ms: _ms, ...line } = describe() as { ms?: number }
        lines.push({ ...source, result, ...line })
      },
    },
  }
  const { receive, logLeft } = accountMailDeps(deps, accountOf(accountId))
  const { session: ended } = await fixture.alias('joe@gmail.com', 'ended')
  const first = await fetched(['joe+shop@gmail.com', 'joe+ended@gmail.com'])
  await fixture.store.endSession(ended.id, START)
  const { length: size } = first.raw
  const again = {
    ...first,
    recipients: first.recipients.slice(0, 1),
    raw: Uint8Array.from(first.raw),
  }
  await receive(first)
  await receive(again)
  isBlocked = true
  await receive(await fetched(['joe+shop@gmail.com']))
  const recipients = [{ address: address('joe+gone@gmail.com') }]
  logLeft('for no live alias', { folder: 'Spam\u001b', uid: 7, size: 9, recipients })
  const line = { account: 'joe@gmail.com', command: 'FETCH', sender: 'bounce@shop.test', size }
  const shop = { recipients: [expect.objectContaining({ address: 'joe+shop@gmail.com' })] }
  expect(lines).toEqual([
    { ...line, ...shop, result: 'accepted', reason: '', id: expect.stringMatching(/^INBOX\/\d+$/) },
    expect.objectContaining({ ...line, ...shop, result: 'refused' }),
    {
      ...{ account: 'joe@gmail.com', command: 'FETCH', size: 9, recipients },
      ...{ result: 'ignored', reason: 'for no live alias', id: 'Spam\\u001b/7' },
    },
  ])
})

test('forcePoll triggers the poll of this account only', async () => {
  const bus = openMemoryBus('looks', makeWaiterCounts())
  const joeDeps = accountMailDeps({ ...fixture.deps, bus }, accountOf(accountId))
  const polled: string[] = []
  const polledOnce = Promise.withResolvers<void>()
  const unsubscribe = joeDeps.onPollRequest(() => {
    polled.push('joe')
    polledOnce.resolve()
  })
  const annDeps = accountMailDeps({ ...fixture.deps, bus }, accountOf(accountId + 1))
  annDeps.onPollRequest(() => void polled.push('ann'))
  await forcePoll({ bus, limit: openMemoryLimit(makeRates()), now: () => START }, { accountId })
  await polledOnce.promise
  unsubscribe()
  expect(polled).toStrictEqual(['joe'])
  await bus.close()
})
