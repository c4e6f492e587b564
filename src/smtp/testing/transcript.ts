import type { Address } from '../../base/address.ts'
import { OPERATOR } from '../../mail/rules/session.ts'
import { DEFAULT_LIMITS } from '../options.ts'
import { smtpSession } from '../protocol.ts'
import type { Action, ActionResult, CloseReason, SmtpLimits } from '../state.ts'

export const LIMITS: SmtpLimits = { ...DEFAULT_LIMITS, hostname: 'mx.box.test', offerTls: true }

interface Transcript {
  replies: string
  /** The first three digits of each reply's last line; only read where they are asked for. */
  readonly codes: number[]
  mails: { raw: Uint8Array; recipients: Address[]; mailFrom: string; protocol: string }[]
  recipientPaths: string[]
  closed: CloseReason | undefined
}

/** Feeds the session and completes every action with success. */
export function transcript(chunks: Iterable<Buffer>, limits: Partial<SmtpLimits> = {}): Transcript {
  const session = smtpSession({ ...LIMITS, ...limits }, '192.0.2.1')
  const log: Transcript = {
    replies: '',
    get codes() {
      return codesOf(this.replies)
    },
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
  return log
}

function resultOf(action: Exclude<Action, { kind: 'close' }>, log: Transcript): ActionResult {
  if (action.kind === 'mail-from') return { kind: 'mail-from', outcome: 'accepted' }
  if (action.kind === 'tls') return { kind: 'tls', tls: 'TLSv1.3 TEST' }
  if (action.kind === 'rcpt-to') {
    log.recipientPaths.push(action.text)
    const address = action.text.toLowerCase() as Address
    return { kind: 'rcpt-to', outcome: { address, mailbox: OPERATOR } }
  }
  const { mailFrom, protocol } = action.envelope
  log.mails.push({
    raw: action.raw,
    recipients: action.recipients.map(({ address }) => address),
    mailFrom,
    protocol,
  })
  return { kind: 'message', outcome: 'stored', recipients: [] }
}

function codesOf(replies: string): number[] {
  return [...replies.matchAll(/^(\d{3}) /gm)].map(([, code]) => Number(code))
}

export function oneChunk(bytes: Buffer): Buffer[] {
  return [bytes]
}

export function byteByByte(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (byte) => Buffer.from([byte]))
}

export function splitAt(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const ends = [...offsets, bytes.length].sort((a, b) => a - b)
  return ends
    .map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
    .filter((piece) => piece.length > 0)
}

export const OPENING = 'EHLO a.test\r\nMAIL FROM:<a@a.test>\r\nRCPT TO:<ann@box.test>\r\nDATA\r\n'

/** The dot-stuffed body with the final dot. The body ends with CRLF. */
export function stuffed(body: string): string {
  return `${body.replace(/(^|\r\n)\./g, '$1..')}.\r\n`
}

/** The first mail as latin1; undefined if none was accepted. */
export function firstMail({ mails: [mail] }: Transcript): string | undefined {
  return mail && Buffer.from(mail.raw).toString('latin1')
}
