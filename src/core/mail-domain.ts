import type { Host } from './address.ts'

/** A domain we take mail for. Its id never changes and is never used again. */
export interface MailDomain {
  id: number
  name: Host
  /** Listed, and open for new sessions and pool mail. */
  active: boolean
  /** Taken off by the operator: known only so that its id stays its own and its live sessions end normally. */
  removed: boolean
  /** Whether people may have sessions here. */
  sessions: boolean
  /** Whether mail for addresses that no session ever held goes to the pool. */
  reader: boolean
  /** Life of a session here where it differs from the general one. */
  ttlSeconds: number | undefined
}

export function takesSessions(domain: MailDomain): boolean {
  return domain.active && !domain.removed && domain.sessions
}
