import { secretHash } from '../../core/id.ts'
import type { ApiKey } from '../../core/key.ts'
import { type MailboxId, POOL, readerTopic } from '../../core/session.ts'
import { type AdmitNeeds, admitRead, type Caller, readAgain } from '../keys/authenticate-key.ts'
import { type EmailQuery, type EmailsNeeds, emailsMark, newestEmail, seesPool } from './emails.ts'
import { pollUntil, type SharedPolls, type Wanted } from './shared-poll.ts'

export interface AwaitEmailsNeeds extends AdmitNeeds, EmailsNeeds {
  readerPolls: SharedPolls<ReaderView>
}

/** What a key may see, as one poll found it. Shared by all who wait with this key for the same address. */
export interface ReaderView {
  key: ApiKey
  mark: string
  /** 0: there is none. */
  newestId(): Promise<number>
}

interface Wait {
  caller: Caller
  query: EmailQuery
  seconds: number
  /** True when what the key may see is worth an answer. */
  worth(view: Pick<ReaderView, 'mark' | 'newestId'>): boolean | Promise<boolean>
  signal: AbortSignal
  /** How often to look without being woken. */
  lookMs: number
}

/** Waits until there is something worth an answer or the time is over. Refuses when the key does not last so long. */
export async function awaitEmails(
  needs: AwaitEmailsNeeds,
  { caller, query, seconds, worth, signal, lookMs }: Wait,
): Promise<{ key: ApiKey; mark: string; timedOut: boolean }> {
  const wanted: Wanted<ReaderView> = {
    key: `${secretHash(caller.keyText ?? '')} ${query.to ?? ''}`,
    topics: topicsOf(needs, query),
    open: (left) => () => readerView(needs, { keyText: caller.keyText, query, left }),
    intervalMs: lookMs,
    signal,
  }
  return await pollUntil(needs.readerPolls, { ...wanted, seconds }, async (view, over) => {
    const { key, mark } = view
    admitRead(needs, caller, key)
    const found = await worth(view)
    // Who has gone by now is not charged.
    signal.throwIfAborted()
    return found || over ? { key, mark, timedOut: !found } : undefined
  })
}

interface Watched {
  keyText: string | undefined
  query: EmailQuery
  /** Aborted when nobody waits any more. */
  left: AbortSignal
}

async function readerView(
  needs: AwaitEmailsNeeds,
  { keyText, query, left }: Watched,
): Promise<ReaderView> {
  const key = await readAgain(needs, keyText)
  left.throwIfAborted()
  const mark = await emailsMark(needs, query)
  let newestId: Promise<number> | undefined
  return {
    key,
    mark,
    newestId() {
      newestId ??= newestEmail(needs, query)
      return newestId
    },
  }
}

function topicsOf({ readerPool }: EmailsNeeds, { keyId, to }: EmailQuery): MailboxId[] {
  const own = readerTopic('key', keyId)
  if (!seesPool(readerPool, to)) return [own]
  return [own, to === undefined ? POOL : readerTopic('pool', to)]
}
