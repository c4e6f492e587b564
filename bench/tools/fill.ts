import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { joinAddress, parseHost } from '../../src/core/address.ts'
import { secretHash } from '../../src/core/id.ts'
import type { Recipient } from '../../src/core/recipient.ts'
import { readHead } from '../../src/mime/head.ts'
import { allMailWrites } from '../../src/store/sqlite/mail-store.ts'
import { openMigrated } from '../../src/store/sqlite/migrate.ts'
import { mailText } from './mail-text.ts'

export const MESSAGES_EACH = 10

/** The token of the session with that number: made up, so that nobody has to hand over a list of them. */
export function tokenOf(number: number): string {
  return createHash('sha256').update(`bench ${number}`).digest('base64url')
}

/**
 * Fills a data folder with sessions of ten messages each, through the store's own writes but without waiting for the
 * disk, and not mailbox by mailbox: one mail for each in turn, as it would come.
 */
export function fill(folder: string, messages: number): { sessions: number } {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const sessions = Math.ceil(messages / MESSAGES_EACH)
  const db = openMigrated(folder, 'mail')
  db.pragma('synchronous = OFF')
  const limits = {
    mailbox: { maxMessages: 1_000, maxBytes: 1e9 },
    poolMaxBytes: 1e9,
    maxMailBytes: 1e7,
  }
  const writes = allMailWrites(db, limits, Math.random)
  const host = parseHost('box.test')
  if (!host) throw new Error('box.test is a host')
  const addressOf = (number: number) => joinAddress(`bench${number}`, host)

  const now = new Date()
  const domain = { name: host, sessions: true, reader: false, ttlSeconds: undefined }
  const expiresAt = new Date(now.getTime() + 30 * 86_400_000)
  writes.addDomain(domain)
  const recipients: Recipient[] = []
  inSteps(sessions, (number) => {
    const session = { address: addressOf(number), tokenHash: secretHash(tokenOf(number)) }
    const rest = { keyId: undefined, createdAt: now, expiresAt, cooldownMs: 0 }
    const made = writes.createSession({ ...session, ...rest }, () => {})
    if (made) recipients.push({ address: made.address, mailbox: made.id })
  })
  const raw = Buffer.from(mailText(2_000).replaceAll('\n', '\r\n'))
  const mail = {
    envelope: {
      clientIp: '127.0.0.1',
      helo: 'sender.test',
      mailFrom: 'ann@sender.test',
      tls: undefined,
      protocol: 'ESMTP',
    },
    head: readHead(raw, 'ann@sender.test'),
    receivedAt: now,
    raw,
  }
  inSteps(messages, (number) => {
    const recipient = recipients[number % sessions]
    if (recipient) writes.addMail({ ...mail, recipients: [recipient] }, () => {})
  })
  // As if each had been listed before: the first list of a mail has it looked at for a code.
  db.exec("update message set code = ''")
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  return { sessions }

  function inSteps(count: number, write: (number: number) => void): void {
    for (let from = 0; from < count; from += 50_000) {
      db.transaction(() => {
        for (let number = from; number < Math.min(from + 50_000, count); number += 1) write(number)
      })()
    }
  }
}
