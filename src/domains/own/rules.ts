import type { Host } from '../../base/address.ts'

/** A domain that a key holder brings, as far as it is his: each key may claim a name, one holds it. */
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
  /** Last time that the name servers gave a clear answer. */
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

/** `not_checked`: the name servers did not answer, which does not change the state; `taken_over`: another key holds it now. */
export type OwnDomainReason =
  | 'record_missing'
  | 'taken_over'
  | 'suspended_by_operator'
  | 'key_stopped'
  | 'key_expired'
  | 'not_checked'

/** The names that, if the operator has one of them, make this name the operator's: itself, those above it, and wildcards of them. */
export function reservingNames(name: Host): string[] {
  const labels = name.split('.')
  const names = labels.map((_, at) => labels.slice(at).join('.'))
  return names.flatMap((one) => [one, `*.${one}`])
}
