import { expect } from 'vitest'
import {
  type Address,
  localOf,
  parseAddress,
  parseHost,
  parseMailDomain,
} from '../../../src/base/address.ts'
import { isOperatorLocalPart } from '../../../src/mail/rules/prefix.ts'
import type { Recipient } from '../../../src/mail/rules/recipient.ts'
import { type MailboxId, OPERATOR, POOL, type Session } from '../../../src/mail/rules/session.ts'
import type { MessageScan, NewMail } from '../../../src/mail/store.ts'
import type { Store } from '../../../src/store/store.ts'

/** Opened with limits of 5 messages and 10,000 bytes per mailbox, and 20,000 bytes for the pool. */
export interface OpenMailStore {
  store: Store
  /** The same store as another thread or node sees it. */
  other: Store
  close(): Promise<void>
}

export type Fixture = Awaited<ReturnType<typeof openFixture>>

export const START = new Date('2026-03-01T12:00:00Z')
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
export const COOLDOWN = 30 * DAY
export const at = (ms: number) => new Date(START.getTime() + ms)

/** A store with box.test (sessions only) and pool.test (a reader domain), and helpers for tests. */
export async function openFixture({ store, other, close }: OpenMailStore) {
  const box = { sessions: true, ttlSeconds: undefined }
  await store.addDomain({ name: host('box.test'), reader: false, ...box })
  await store.addDomain({ name: host('pool.test'), reader: true, ...box })
  let tokens = 0
  const due = (now: Date) => ({
    ...{ now, cooldownMs: COOLDOWN, poolMs: DAY, operatorMs: 30 * DAY, ownMs: 30 * DAY },
    mailLogMs: 7 * DAY,
  })
  const take = (text: string, tokenHash: string, createdAt = START) =>
    store.createSession(newSession(text, { tokenHash, createdAt, lifeMs: HOUR }))

  /** Like RCPT: each address with its current mailbox. */
  const accepted = (to: string[]): Promise<Recipient[]> =>
    Promise.all(
      to.map(address).map(async (one) => {
        const { session } = await store.findRecipient(one)
        const shared = isOperatorLocalPart(localOf(one)) ? OPERATOR : POOL
        return { address: one, mailbox: session?.id ?? shared }
      }),
    )

  return {
    store,
    other,
    close,
    due,
    take,
    async session(
      text: string,
      lifeMs = HOUR,
      keyId?: string,
    ): Promise<Session & { tokenHash: string }> {
      tokens += 1
      const tokenHash = `hash-${tokens}`
      const created = await store.createSession(
        newSession(text, { tokenHash, createdAt: START, lifeMs, keyId }),
      )
      expect.assert(created, `${text} is free`)
      return { ...created, tokenHash }
    },
    accepted,
    send: async (to: string[], more: Partial<NewMail> = {}) =>
      store.addMail(newMail(await accepted(to), more)),
    subjects: async (mailbox: MailboxId, from = store) =>
      (await from.listMessages(mailbox, { sinceId: 0, limit: 100 })).map(
        (message) => message.subject,
      ),
    async sweepAll(now: Date) {
      while (await store.sweep(due(now)));
    },
  }
}

interface SessionOptions {
  tokenHash: string
  createdAt: Date
  lifeMs: number
  keyId?: string | undefined
}

export function newSession(text: string, { tokenHash, createdAt, lifeMs, keyId }: SessionOptions) {
  const expiresAt = new Date(createdAt.getTime() + lifeMs)
  return {
    address: address(text),
    tokenHash,
    keyId,
    createdAt,
    expiresAt,
    cooldownMs: COOLDOWN,
  }
}

export function newMail(recipients: Recipient[], more: Partial<NewMail> = {}): NewMail {
  return {
    recipients,
    envelope: {
      clientIp: '192.0.2.7',
      helo: 'sender.test',
      mailFrom: 'ann@sender.test',
      tls: undefined,
      protocol: 'ESMTP',
    },
    head: head('hello'),
    raw: new Uint8Array([1, 2, 3]),
    receivedAt: START,
    ...more,
  }
}

export function head(subject: string) {
  return { senderName: 'Ann', senderEmail: 'ann@sender.test', subject }
}

export function scanOf(mailbox: MailboxId, id: number, code: string): MessageScan {
  return { mailbox, id, code, preview: `Your code is ${code}.`, attachments: 2, links: 1 }
}

export function address(text: string): Address {
  const parsed = parseAddress(text)
  expect.assert(parsed)
  return parsed
}

export function host(text: string) {
  const parsed = parseHost(text)
  expect.assert(parsed)
  return parsed
}

export function domainName(text: string) {
  const parsed = parseMailDomain(text)
  expect.assert(parsed)
  return parsed
}
