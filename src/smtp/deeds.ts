import { Problem } from '../core/problem.ts'
import { mailBytes, mails, refusedRecipients } from './metrics.ts'
import type { SmtpNeeds } from './needs.ts'
import type { Deed } from './state.ts'
import type { MailOutcome, RecipientOutcome, SenderOutcome, Verdict } from './verdict.ts'

/** The deeds that the house does; the others are the socket's. */
export type HouseDeed = Extract<Deed, { kind: 'sender' | 'recipient' | 'mail' }>
type MailDeed = Extract<Deed, { kind: 'mail' }>

/** Never throws: what goes wrong here is ours, is logged, and is said as 451. */
export async function carryOut(needs: SmtpNeeds, ip: string, deed: HouseDeed): Promise<Verdict> {
  if (deed.kind === 'sender') return { kind: 'sender', outcome: await welcome(needs, ip) }
  if (deed.kind === 'mail') return { kind: 'mail', outcome: await keep(needs, ip, deed) }
  return { kind: 'recipient', outcome: await recipient(needs, ip, deed) }
}

export function countMail(outcome: MailOutcome): void {
  mails.inc({ outcome })
}

async function welcome(needs: SmtpNeeds, ip: string): Promise<SenderOutcome> {
  try {
    if ((await needs.obstacle()) !== undefined) return 'no_space'
    return (await needs.takeMail(ip)) ? 'welcome' : 'too_many'
  } catch (err) {
    return logged(needs, ip, { doing: 'MAIL', err })
  }
}

async function recipient(
  needs: SmtpNeeds,
  ip: string,
  { text, size }: { text: string; size: number },
): Promise<RecipientOutcome> {
  try {
    const outcome = await needs.accept(text, size)
    if ('refused' in outcome) refusedRecipients.inc({ reason: outcome.refused })
    return outcome
  } catch (err) {
    return { refused: logged(needs, ip, { doing: 'RCPT', err }) }
  }
}

async function keep(needs: SmtpNeeds, ip: string, deed: MailDeed): Promise<MailOutcome> {
  const { raw, recipients, mail } = deed
  // Read now: receive may hand the bytes to another thread, and then they are gone from here.
  const size = raw.length
  let outcome: MailOutcome
  try {
    outcome = await needs.receive({ recipients, envelope: { clientIp: ip, ...mail }, raw })
  } catch (err) {
    const noSpace = err instanceof Problem && err.code === 'overloaded'
    outcome = noSpace ? 'no_space' : logged(needs, ip, { doing: 'DATA', err })
  }
  countMail(outcome)
  if (outcome === 'kept') mailBytes.inc(size)
  return outcome
}

function logged(needs: SmtpNeeds, ip: string, { doing, err }: { doing: string; err: unknown }) {
  const cause = err instanceof Error ? err : new Error(String(err))
  needs.log.error({ ip, doing, err: cause }, 'answered 451')
  return 'fault' as const
}
