import type { Host } from '../../base/address.ts'
import type { ApiKey, DomainWarning } from '../../keys/rules.ts'

/** A domain that a key holder brings, as far as it is theirs: each key may claim a name, one holds it. */
export interface OwnDomain {
  id: string
  keyId: string
  name: Host
  /** Value of the TXT record that proves the claim. */
  token: string
  /** pending: not verified; suspended: still held, but its mail is refused. */
  state: 'pending' | 'active' | 'suspended'
  reason: OwnDomainReason | undefined
  createdAt: Date
  verifiedAt: Date | undefined
  /** Last time that the name servers gave a clear answer. Undefined after a restore, until the record is found. */
  checkedAt: Date | undefined
  /** The TXT record is missing. */
  missingSince: Date | undefined
  /** The key was stopped or has expired. */
  lapsedSince: Date | undefined
  /** Whether mail for addresses without a session is taken. */
  catchAll: boolean
  /** Mails taken and refused since it was verified. */
  taken: number
  refused: number
}

/**
 * `not_checked`: the name servers did not answer, which does not change the state. `restored`: suspended after a restore, until the
 * record is found. `taken_over`: another key holds it now.
 */
export type OwnDomainReason =
  | 'record_missing'
  | 'taken_over'
  | 'suspended_by_operator'
  | 'key_stopped'
  | 'key_expired'
  | 'not_checked'
  | 'restored'

/** The names that, if the operator has one of them, make this name the operator's: itself, those above it, and wildcards of them. */
export function reservingNames(name: Host): string[] {
  const labels = name.split('.')
  const names = labels.map((_, at) => labels.slice(at).join('.'))
  return names.flatMap((one) => [one, `*.${one}`])
}

export const DAY_MS = 86_400_000
/** How long mail is still taken after the record was found missing. */
export const MISSING_MS = 7 * DAY_MS
/** The same after the key was stopped or has expired. */
export const LAPSE_MS = 30 * DAY_MS

/** What a check found. unknown: the name servers gave no clear answer. */
export type RecordCheck = 'found' | 'missing' | 'unknown'

/** Why the key of a domain no longer works, and since when. */
export interface Lapse {
  reason: 'key_stopped' | 'key_expired'
  since: Date
}

/** Undefined if the key works. A key that is gone counts as stopped. */
export function lapseOf(key: ApiKey | undefined, now: Date): Lapse | undefined {
  if (key?.state !== 'active') return { reason: 'key_stopped', since: now }
  const { expiresAt } = key
  return expiresAt && expiresAt.getTime() <= now.getTime()
    ? { reason: 'key_expired', since: expiresAt }
    : undefined
}

export type OwnDomainCheck = Pick<OwnDomain, 'checkedAt' | 'missingSince' | 'lapsedSince'> &
  CheckedState

interface CheckedState {
  state: 'active' | 'suspended'
  reason: OwnDomainReason | undefined
}

interface CheckFacts {
  /** Undefined: the record was not looked for. */
  record?: RecordCheck | undefined
  lapse: Lapse | undefined
}

/** What a check changes in a domain that is held. */
export function afterCheck(domain: OwnDomain, facts: CheckFacts, now: Date): OwnDomainCheck {
  const { record, lapse } = facts
  const isAnswered = record === 'found' || (record === 'missing' && isConfirmed(domain))
  const firstMissing = record === 'missing' ? now : undefined
  const next = {
    ...domain,
    checkedAt: isAnswered ? now : domain.checkedAt,
    missingSince: record === 'found' ? undefined : (domain.missingSince ?? firstMissing),
    lapsedSince: lapse && (domain.lapsedSince ?? lapse.since),
  }
  const { checkedAt, missingSince, lapsedSince } = next
  return { checkedAt, missingSince, lapsedSince, ...checkedState(next, facts, now) }
}

function checkedState(domain: OwnDomain, { record, lapse }: CheckFacts, now: Date): CheckedState {
  const { missingSince, lapsedSince, reason } = domain
  const isSuspendedFor = (why: OwnDomainReason) => domain.state === 'suspended' && reason === why
  if (isSuspendedFor('suspended_by_operator')) return { state: 'suspended', reason }
  if (!isConfirmed(domain)) return { state: 'suspended', reason: 'restored' }
  // Silence of the name servers suspends nothing.
  const mayMiss = record === 'missing' || isSuspendedFor('record_missing')
  if (mayMiss && isPast(missingSince, MISSING_MS, now)) {
    return { state: 'suspended', reason: 'record_missing' }
  }
  if (lapse && isPast(lapsedSince, LAPSE_MS, now)) {
    return { state: 'suspended', reason: lapse.reason }
  }
  if (missingSince) return { state: 'active', reason: 'record_missing' }
  const isSilent = record === 'unknown' || (!record && reason === 'not_checked')
  return { state: 'active', reason: lapse?.reason ?? (isSilent ? 'not_checked' : undefined) }
}

/**
 * Whether the record was found since the domain was verified or restored from a backup: another key may have taken the domain over
 * after that backup.
 */
export function isConfirmed({ checkedAt }: Pick<OwnDomain, 'checkedAt'>): boolean {
  return checkedAt !== undefined
}

function isPast(since: Date | undefined, ms: number, now: Date): boolean {
  return since !== undefined && now.getTime() - since.getTime() >= ms
}

/** When mail will be refused unless something changes; undefined if nothing is wrong, or it is refused already. */
export function suspendsAt({ state, missingSince, lapsedSince }: OwnDomain): Date | undefined {
  if (state !== 'active') return undefined
  const times = [after(missingSince, MISSING_MS), after(lapsedSince, LAPSE_MS)]
  return times.filter((time) => time !== undefined).sort((a, b) => a.getTime() - b.getTime())[0]
}

function after(since: Date | undefined, ms: number): Date | undefined {
  return since && new Date(since.getTime() + ms)
}

export function domainWarnings(
  domains: readonly OwnDomain[],
  key: ApiKey,
  now: Date,
): DomainWarning[] {
  const active = domains.filter(({ state }) => state === 'active')
  const lapse = lapseOf(key, now)
  const warnings = active.flatMap(({ name: domain, missingSince, lapsedSince }) => {
    const lapses = lapse && after(lapsedSince ?? lapse.since, LAPSE_MS)
    const missing = after(missingSince, MISSING_MS)
    return [
      ...(missing ? [{ code: 'record_missing' as const, domain, at: missing }] : []),
      ...(lapse && lapses ? [{ code: lapse.reason, domain, at: lapses }] : []),
    ]
  })
  const { expiresAt } = key
  const isNear = expiresAt && expiresAt.getTime() - now.getTime() < LAPSE_MS
  if (lapse || !isNear || active.length === 0) return warnings
  return [...warnings, { code: 'key_expires', domain: undefined, at: expiresAt }]
}

/** Whether the name is that host, or below it. */
export function isAtOrBelow(name: Host, host: string): boolean {
  return name === host || name.endsWith(`.${host}`)
}
