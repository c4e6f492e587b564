/** skipped: not used here, or it depends on something that another check reports. */
export type CheckStatus = 'ok' | 'warning' | 'failure' | 'skipped'

/** What a check of `mayfly doctor` found. */
export interface CheckResult {
  status: CheckStatus
  /** What was found. */
  seen: string
  /** The record to publish, the setting to change or the command to run; empty unless something is wrong. */
  fix: string
}

const result =
  (status: CheckStatus) =>
  (seen: string, fix = ''): CheckResult => ({ status, seen, fix })

export const ok = result('ok')
export const skipped = result('skipped')
export const warning = result('warning')
export const failure = result('failure')
