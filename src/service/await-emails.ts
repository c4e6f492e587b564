import type { Bus } from '../bus/bus.ts'
import type { ApiKey } from '../core/key.ts'
import { type MailboxId, POOL, readerTopic } from '../core/session.ts'
import { type AdmitNeeds, admitAgain, type Caller } from './admit.ts'
import { type EmailQuery, type EmailsNeeds, emailsMark, seesPool } from './emails.ts'
import { lookUntil } from './watch.ts'

export interface AwaitEmailsNeeds extends AdmitNeeds, EmailsNeeds {
  bus: Pick<Bus, 'subscribe'>
}

interface Wait {
  caller: Caller
  query: EmailQuery
  seconds: number
  /** True when what the key may see is worth an answer. */
  worth(mark: string): boolean | Promise<boolean>
  signal: AbortSignal
  /** How often to look without being woken. */
  lookMs: number
}

/** Waits until there is something worth an answer or the time is over. Refuses when the key does not last so long. */
export async function awaitEmails(
  needs: AwaitEmailsNeeds,
  { caller, query, seconds, worth, signal, lookMs }: Wait,
): Promise<{ key: ApiKey; mark: string; timedOut: boolean }> {
  const watching = { mailboxes: topicsOf(needs, query), seconds, signal, lookMs }
  return await lookUntil(needs.bus, watching, async (over) => {
    const key = await admitAgain(needs, caller)
    const mark = await emailsMark(needs, query)
    const found = await worth(mark)
    // Who has gone by now is not charged.
    signal.throwIfAborted()
    return found || over ? { key, mark, timedOut: !found } : undefined
  })
}

function topicsOf({ readerPool }: EmailsNeeds, { keyId, to }: EmailQuery): MailboxId[] {
  const own = readerTopic('key', keyId)
  if (!seesPool(readerPool, to)) return [own]
  return [own, to === undefined ? POOL : readerTopic('pool', to)]
}
