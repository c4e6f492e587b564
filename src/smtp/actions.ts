import { asError, Problem, StoreAway } from '../core/problem.ts'
import type { Shared } from './connection.ts'
import { mailBytes, mails, refusedRecipients } from './metrics.ts'
import type { SmtpNeeds } from './options.ts'
import type { Deed } from './state.ts'
import type { MailOutcome, RecipientOutcome, SenderOutcome, Trouble, Verdict } from './results.ts'

/** The deeds that the house does; the others are the socket's. */
export type HouseDeed = Extract<Deed, { kind: 'sender' | 'recipient' | 'mail' }>
type RecipientDeed = Extract<Deed, { kind: 'recipient' }>
type MailDeed = Extract<Deed, { kind: 'mail' }>

type House = Pick<Shared, 'needs' | 'tellOutage'>

/** What goes wrong in the house is ours, is logged, and is said as 451; only where there is no room it is 452. */
export function carryOut(house: House, ip: string, deed: HouseDeed): Promise<Verdict> {
  if (deed.kind === 'sender') return welcome(house, ip, deed.size)
  return deed.kind === 'mail' ? keep(house, ip, deed) : askFor(house, ip, deed)
}

export function countMail(outcome: MailOutcome, bytes: number): void {
  mails.add(outcome)
  mailBytes.add(outcome, bytes)
}

async function welcome(house: House, ip: string, size: number): Promise<Verdict> {
  const { needs } = house
  let outcome: SenderOutcome
  try {
    outcome = (await obstacle(house, size)) ?? (await withinRates(needs, ip))
  } catch (err) {
    outcome = trouble(house, ip, { doing: 'MAIL', err })
  }
  return { kind: 'sender', outcome }
}

async function withinRates(needs: SmtpNeeds, ip: string): Promise<SenderOutcome> {
  const [hasTraffic, isFewEnough] = await Promise.all([needs.hasTraffic(ip), needs.takeMail(ip)])
  if (!hasTraffic) return 'too_much'
  return isFewEnough ? 'welcome' : 'too_many'
}

async function obstacle(house: House, size: number): Promise<'no_space' | 'away' | undefined> {
  if (!hasRoom(house.needs, size)) return 'no_space'
  const found = await house.needs.obstacle()
  if (found?.kind !== 'away') return found && 'no_space'
  house.tellOutage(found)
  return 'away'
}

// Only asked, not held: a declared size is a promise that costs a sender nothing.
function hasRoom(needs: SmtpNeeds, size: number): boolean {
  if (size === 0) return true
  if (!needs.reserveBytes(size)) return false
  needs.releaseBytes(size)
  return true
}

async function askFor(house: House, ip: string, deed: RecipientDeed): Promise<Verdict> {
  let outcome: RecipientOutcome
  try {
    outcome = await house.needs.accept(deed.text, { size: deed.size, others: deed.others, ip })
    if ('refused' in outcome) refusedRecipients.add(outcome.refused)
  } catch (err) {
    outcome = { refused: trouble(house, ip, { doing: 'RCPT', err }) }
  }
  return { kind: 'recipient', outcome }
}

async function keep(house: House, ip: string, deed: MailDeed): Promise<Verdict> {
  const { needs } = house
  const { raw, recipients, envelope } = deed
  // Read now: the bytes are handed over to the thread that keeps them.
  const size = raw.length
  let outcome: MailOutcome
  try {
    outcome = await needs.receive({ recipients, envelope, raw })
  } catch (err) {
    outcome = trouble(house, ip, { doing: 'DATA', err })
  }
  countMail(outcome, size)
  needs.log.debug({ ip, outcome, bytes: size, recipients: recipients.length }, 'a mail came in')
  return { kind: 'mail', outcome }
}

/** What the sender hears of it. A store that is away is told to the log once, not for each mail. */
function trouble(
  { needs, tellOutage }: House,
  ip: string,
  { doing, err }: { doing: string; err: unknown },
): Trouble {
  if (err instanceof StoreAway) {
    tellOutage(err)
    return 'away'
  }
  if (err instanceof Problem && err.code === 'overloaded') return 'no_space'
  needs.log.error({ ip, doing, err: asError(err) }, 'answered 451')
  return 'fault'
}
