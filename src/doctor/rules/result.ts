import type { CheckResult } from '../../base/check-result.ts'

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

/** What DNS returned: records, possibly none, or the reason why there is no answer. `isMissing`: there is not even such a name. */
export type Lookup<T> = { records: readonly T[]; isMissing?: boolean } | { error: string }

/** The response of an HTTP server, or why there is none: `certificate` and `name` are certain, `network` may be one of this network only. */
export type HttpResponse =
  | {
      status: number
      body: string
      date?: Date | undefined
      /** Where a redirect leads. */
      location?: string | undefined
      contentType?: string | undefined
      /** Life of the server's certificate. */
      validFrom?: Date | undefined
      validTo?: Date | undefined
    }
  | { error: string; cause: 'certificate' | 'name' | 'network' }

export function recordsOf<T>(lookup: Lookup<T>): readonly T[] {
  return 'records' in lookup ? lookup.records : []
}
