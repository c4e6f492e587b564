import type { Host } from '../../base/address.ts'
import type { OwnDomain, OwnDomainReason } from './rules.ts'

export interface OwnDomainRow {
  id: string
  key_id: string
  name: Host
  token: string
  state: OwnDomain['state']
  reason: OwnDomainReason | null
  created_at: number
  verified_at: number | null
  checked_at: number | null
  missing_since: number | null
  lapsed_since: number | null
  catch_all: boolean | number
  taken: number
  refused: number
}

export function ownDomainOf(row: OwnDomainRow): OwnDomain {
  const { id, name, token, state, taken, refused } = row
  return {
    ...{ id, keyId: row.key_id, name, token, state, reason: row.reason ?? undefined },
    createdAt: new Date(row.created_at),
    verifiedAt: timeOf(row.verified_at),
    checkedAt: timeOf(row.checked_at),
    missingSince: timeOf(row.missing_since),
    lapsedSince: timeOf(row.lapsed_since),
    catchAll: Boolean(row.catch_all),
    ...{ taken, refused },
  }
}

function timeOf(ms: number | null): Date | undefined {
  return ms === null ? undefined : new Date(ms)
}
