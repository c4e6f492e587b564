import { asError } from '../core/fault.ts'
import { Problem } from '../core/problem.ts'
import { mailBytes, mails, refusedRecipients } from './metrics.ts'
import type { SmtpNeeds } from './needs.ts'
import type { Deed } from './state.ts'
import type { MailOutcome, RecipientOutcome, SenderOutcome, Verdict } from './verdict.ts'

/** The deeds that the house does; the others are the socket's. */
export type HouseDeed = Extract<Deed, { kind: 'sender' | 'recipient' | 'mail' }>
type RecipientDeed = Extract<Deed, { kind: 'recipient' }>
type MailDeed = Extract<Deed, { kind: 'mail' }>

/** What goes wrong in the house is ours, is logged, and is said as 451. */
export function carryOut(needs: SmtpNeeds, ip: string, deed: HouseDeed): Promise<Verdict> {
  if (deed.kind === 'sender') return welcome(needs, ip, deed.size)
  return deed.kind === 'mail' ? keep(needs, ip, deed) : askFor(needs, ip, deed)
}

export function countMail(outcome: MailOutcome, bytes: number): void {
  mails.add(outcome)
  mailBytes.add(outcome, bytes)
}

async function welcome(needs: SmtpNeeds, ip: string, size: number): Promise<Verdict> {
  let outcome: SenderOutcome
  try {
    if (!hasRoom(needs, size) || (await needs.obstacle()) !== undefined) outcome = 'no_space'
    else outcome = (await needs.takeMail(ip)) ? 'welcome' : 'too_many'
  } catch (err) {
    outcome = logged(needs, ip, { doing: 'MAIL', err })
  }
  return { kind: 'sender', outcome }
}

// Only asked, not held: a declared size is a promise that costs a sender nothing.
function hasRoom(needs: SmtpNeeds, size: number): boolean {
  if (size === 0) return true
  if (!needs.reserveBytes(size)) return false
  needs.releaseBytes(size)
  return true
}

async function askFor(needs: SmtpNeeds, ip: string, deed: RecipientDeed): Promise<Verdict> {
  let outcome: RecipientOutcome
  try {
    outcome = await needs.accept(deed.text, deed.size)
    if ('refused' in outcome) refusedRecipients.add(outcome.refused)
  } catch (err) {
    outcome = { refused: logged(needs, ip, { doing: 'RCPT', err }) }
  }
  return { kind: 'recipient', outcome }
}

async function keep(needs: SmtpNeeds, ip: string, deed: MailDeed): Promise<Verdict> {
  const { raw, recipients, envelope } = deed
  // Read now: the bytes are handed over to the thread that keeps them.
  const size = raw.length
  let outcome: MailOutcome
  try {
    outcome = await needs.receive({ recipients, envelope, raw })
  } catch (err) {
    const noSpace = err instanceof Problem && err.code === 'overloaded'
    outcome = noSpace ? 'no_space' : logged(needs, ip, { doing: 'DATA', err })
  }
  countMail(outcome, size)
  needs.log.debug({ ip, outcome, bytes: size, recipients: recipients.length }, 'a mail came in')
  return { kind: 'mail', outcome }
}

function logged(needs: SmtpNeeds, ip: string, { doing, err }: { doing: string; err: unknown }) {
  needs.log.error({ ip, doing, err: asError(err) }, 'answered 451')
  return 'fault' as const
}
