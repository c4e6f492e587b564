import { isSinceAlias } from '../core/gmail.ts'
import { type FetchedRecipient, hasRoom, type ReceiveLimits } from '../core/recipient.ts'
import type { FetchedMail, KeptRecipient } from './store.ts'

interface Alias {
  createdAt: Date
  keyId: string | undefined
  count: number
  bytes: number
}

/**
 * Those who were there already, are still there (else `find` knows none) and have room; and those who are full, for whom the
 * mail stays in the account.
 */
export function resolveFetched(
  mail: Pick<FetchedMail, 'recipients' | 'receivedAt'> & { size: number },
  limits: ReceiveLimits,
  find: (recipient: FetchedRecipient) => Alias | undefined,
): { taken: (KeptRecipient & FetchedRecipient)[]; full: FetchedRecipient[] } {
  const found = mail.recipients.flatMap((recipient) => {
    const alias = find(recipient)
    const isTheirs = alias && isSinceAlias(mail.receivedAt, alias.createdAt)
    return isTheirs ? [{ recipient, alias }] : []
  })
  const { roomy = [], full = [] } = Object.groupBy(found, ({ alias }) =>
    hasRoom(alias, limits.mailbox, mail.size) ? 'roomy' : 'full',
  )
  return {
    taken: roomy.map(({ recipient, alias: { keyId } }) => ({ ...recipient, keyId })),
    full: full.map(({ recipient }) => recipient),
  }
}

// SEARCH SINCE looks at whole days, in the server's time zone.
const LOOK_BACK_MS = 2 * 86_400_000

/** From when on mail that was fetched is remembered: to the oldest alias that lives, and no further. */
export function rememberFrom(oldestAlias: Date | undefined, now: Date): number {
  return (oldestAlias ?? now).getTime() - LOOK_BACK_MS
}
