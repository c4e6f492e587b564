/** skipped: not used here, or it depends on something that another check reports. */
export type CheckStatus = 'ok' | 'warning' | 'failure' | 'skipped'

export interface CheckResult {
  status: CheckStatus
  /** What was found. */
  seen: string
  /** The record to publish, the setting to change or the command to run; empty unless something is wrong. */
  fix: string
}

export interface FinishedCheck extends CheckResult {
  name: string
  /** The domain or account it is about. */
  subject?: string
}

/** All checks of the installation, made at the same time. */
export interface CheckRun {
  finishedAt: Date
  /** `since` is when the check got its status. */
  checks: (FinishedCheck & { since: Date })[]
}

export const ok = (seen: string): CheckResult => ({ status: 'ok', seen, fix: '' })
export const skipped = (seen: string): CheckResult => ({ status: 'skipped', seen, fix: '' })
export const warning = (seen: string, fix: string): CheckResult => ({
  status: 'warning',
  seen,
  fix,
})
export const failure = (seen: string, fix: string): CheckResult => ({
  status: 'failure',
  seen,
  fix,
})

/** What DNS returned: records, possibly none, or the reason why there is no answer. */
export type Lookup<T> = { records: readonly T[] } | { error: string }

export function recordsOf<T>(lookup: Lookup<T>): readonly T[] {
  return 'records' in lookup ? lookup.records : []
}
