import type { Address } from '../../core/address.ts'
import { OPERATOR } from '../../core/session.ts'
import { DEFAULT_LIMITS } from '../options.ts'
import { smtpSession } from '../protocol.ts'
import type { Action, ActionResult, CloseReason, SmtpLimits } from '../state.ts'

export const LIMITS: SmtpLimits = { ...DEFAULT_LIMITS, hostname: 'mx.box.test', offerTls: true }

interface Transcript {
  replies: string
  /** The first three digits of each reply's last line. */
  codes: number[]
  mails: { raw: Uint8Array; recipients: Address[]; mailFrom: string; protocol: string }[]
  recipientPaths: string[]
  closed: CloseReason | undefined
}

/** Feeds the engine and answers its deeds as a house that takes everything would. */
export function transcript(chunks: Iterable<Buffer>, limits: Partial<SmtpLimits> = {}): Transcript {
  const session = smtpSession({ ...LIMITS, ...limits }, '192.0.2.1')
  const log: Transcript = {
    replies: '',
    codes: [],
    mails: [],
    recipientPaths: [],
    closed: undefined,
  }
  for (const chunk of chunks) {
    let step = session.receive(chunk)
    log.replies += step.replies
    while (step.action && step.action.kind !== 'close') {
      step = session.complete(resultOf(step.action, log))
      log.replies += step.replies
    }
    if (step.action) {
      log.closed = step.action.reason
      break
    }
  }
  log.codes = codesOf(log.replies)
  return log
}

function resultOf(action: Exclude<Action, { kind: 'close' }>, log: Transcript): ActionResult {
  if (action.kind === 'sender') return { kind: 'sender', outcome: 'welcome' }
  if (action.kind === 'tls') return { kind: 'tls', tls: 'TLSv1.3 TEST' }
  if (action.kind === 'recipient') {
    log.recipientPaths.push(action.text)
    const address = action.text.toLowerCase() as Address
    return { kind: 'recipient', outcome: { address, mailbox: OPERATOR } }
  }
  const { mailFrom, protocol } = action.envelope
  log.mails.push({
    raw: action.raw,
    recipients: action.recipients.map(({ address }) => address),
    mailFrom,
    protocol,
  })
  return { kind: 'mail', outcome: 'kept' }
}

function codesOf(replies: string): number[] {
  return [...replies.matchAll(/^(\d{3}) /gm)].map(([, code]) => Number(code))
}

/** All in one piece. */
export function oneChunk(bytes: Buffer): Buffer[] {
  return [bytes]
}

export function byteByByte(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (byte) => Buffer.from([byte]))
}

/** In pieces that end at the given places. */
export function splitAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places, bytes.length].sort((a, b) => a - b)
  return ends
    .map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
    .filter((piece) => piece.length > 0)
}

export const OPENING = 'EHLO a.test\r\nMAIL FROM:<a@a.test>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\n'

/** What a sender does to a body, and what must be undone. The body ends with CRLF. */
export function stuffed(body: string): string {
  return `${body.replace(/(^|\r\n)\./g, '$1..')}.\r\n`
}

/** The first mail's bytes as text, one character each; undefined when none was taken. */
export function firstMail({ mails: [mail] }: Transcript): string | undefined {
  return mail && Buffer.from(mail.raw).toString('latin1')
}
