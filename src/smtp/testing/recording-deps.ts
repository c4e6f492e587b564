import { type Address, hostOf, parseAddress } from '../../base/address.ts'
import type { LogFacts } from '../../base/log/log.ts'
import { NO_MAIL_LOG } from '../../mail/log/mail-log.ts'
import type { Recipient } from '../../mail/rules/recipient.ts'
import { OPERATOR } from '../../mail/rules/session.ts'
import type { Envelope } from '../../shared/mail.ts'
import type { SmtpDeps } from '../options.ts'

interface ReceivedMail {
  recipients: Address[]
  envelope: Envelope
  raw: Uint8Array
}

/** Accepts mail for everyone at box.test except nobody@ and full@, and records every call. */
export function recordingDeps(overrides: Partial<SmtpDeps> = {}) {
  const seen = {
    asked: [] as { text: string; size: number; others: readonly Recipient[]; ip: string }[],
    traffic: [] as { ip: string; bytes: number }[],
    mails: [] as ReceivedMail[],
    lines: [] as { level: string; facts: LogFacts; message: string }[],
    held: 0,
    heldIps: [] as string[],
    reserved: 0,
  }
  const logAs = (level: string) => (facts: LogFacts, message: string) => {
    seen.lines.push({ level, facts, message })
  }
  const deps: SmtpDeps = {
    async acceptRecipient(text, offer) {
      seen.asked.push({ text, ...offer })
      return resolveRecipient(text)
    },
    async receiveMail(mail) {
      seen.mails.push({ ...mail, recipients: mail.recipients.map(({ address }) => address) })
      return { outcome: 'stored', recipients: mail.recipients }
    },
    isBlocked: () => false,
    storageFault: async () => undefined,
    acquireConnection(ip) {
      seen.held += 1
      seen.heldIps.push(ip)
      return () => {
        seen.held -= 1
      }
    },
    allowMail: async () => true,
    allowTraffic: async () => true,
    countTraffic(ip, bytes) {
      seen.traffic.push({ ip, bytes })
    },
    reserveBytes(bytes) {
      seen.reserved += bytes
      return true
    },
    releaseBytes(bytes) {
      seen.reserved -= bytes
    },
    mailLog: NO_MAIL_LOG,
    log: { debug: logAs('debug'), info: logAs('info'), warn: logAs('warn'), error: logAs('error') },
    now: () => new Date('2026-05-01T12:00:00Z'),
    ...overrides,
  }
  return { deps, seen }
}

function resolveRecipient(text: string): Awaited<ReturnType<SmtpDeps['acceptRecipient']>> {
  const address = parseAddress(text.toLowerCase() === 'postmaster' ? 'postmaster@box.test' : text)
  if (!address) return { refused: 'unknown' }
  if (hostOf(address) !== 'box.test') return { refused: 'foreign' }
  if (address.startsWith('nobody@')) return { refused: 'unknown' }
  if (address.startsWith('full@')) return { refused: 'full' }
  return { address, mailbox: OPERATOR }
}
