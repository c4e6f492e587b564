import type { MailDeps } from './deps.ts'
import { knownAgainAt, type LedgerLimits } from './rules/ledger.ts'

export interface LedgerDeps extends Pick<MailDeps, 'now'>, LedgerLimits {
  store: Pick<MailDeps['store'], 'readLedger' | 'saveLedger' | 'listDomains' | 'distrustOwnDomains'>
}

/**
 * For an operator who has restored an older state of the store, or starts anew without it: nor is it known who holds a domain, if
 * keys do. Returns until when the ledger is unknown, and how many domains keys hold.
 */
export async function distrustLedger({
  store,
  now,
  ...limits
}: LedgerDeps): Promise<{ unknownUntil: Date; ownDomains: number }> {
  const until = knownAgainAt(now(), limits, await store.listDomains())
  const before = (await store.readLedger())?.unknownUntil
  const unknownUntil = before && before > until ? before : until
  await store.saveLedger({ unknownUntil, reason: 'operator' })
  return { unknownUntil, ownDomains: await store.distrustOwnDomains(now()) }
}

/** Ends that state, and every other in which the ledger is unknown. */
export async function trustLedger({ store }: Pick<LedgerDeps, 'store'>): Promise<void> {
  await store.saveLedger({ unknownUntil: undefined, reason: '' })
}
