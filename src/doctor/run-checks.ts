import { type CheckResult, failure, skipped } from '../base/check-result.ts'
import { withTimeout } from '../base/jobs/repeat.ts'
import { toError } from '../base/problem.ts'
import { printableLines, shortened } from '../base/text.ts'
import type { Facts } from './facts.ts'
import { NOT_RUNNING } from './rules/installation-rules.ts'
import type { FinishedCheck } from './rules/result.ts'

/** One check of the installation. */
export interface Check {
  name: string
  /** The domain or account it is about; undefined for the installation as a whole. */
  subject?: string
  run(signal: AbortSignal): Promise<CheckResult>
}

/** A check as listed: how its facts are found, and the rule that judges them. */
export interface CheckEntry<F extends Facts = Facts> {
  name: string
  /** Made once for each of these. */
  subjects?(facts: F): readonly string[]
  /** What is said if there are none. */
  none?: string
  /** It needs the running service. */
  needsService?: true
  /** Asks others about our addresses and domains. */
  onRequest?: true
  /** What to do about an error. */
  fix?: string
  run(facts: F, subject: string, signal: AbortSignal): Promise<CheckResult>
}

/** An entry of the list: a name, if there are no options. */
export function check<F extends Facts>(
  entry: string | Omit<CheckEntry<F>, 'run'>,
  run: CheckEntry<F>['run'],
): CheckEntry<F> {
  return { ...(typeof entry === 'string' ? { name: entry } : entry), run }
}

/** The checks of an entry: one, or one for each subject. */
export function checksOf<F extends Facts>(entry: CheckEntry<F>, facts: F): Check[] {
  const { name, subjects, none, needsService, fix } = entry
  const runFor = (subject: string) => async (signal: AbortSignal) => {
    if (needsService && !(await facts.isRunning())) return skipped(NOT_RUNNING)
    try {
      return await entry.run(facts, subject, signal)
    } catch (error) {
      if (fix === undefined) throw error
      return failure(toError(error).message, fix)
    }
  }
  if (!subjects) return [{ name, run: runFor('') }]
  const found = subjects(facts)
  if (found.length === 0 && none !== undefined) return [{ name, run: async () => skipped(none) }]
  return found.map((subject) => ({ name, subject, run: runFor(subject) }))
}

const TIMEOUT_MS = 15_000
// Deliveries of many domains stay below the limit of connections per address.
const AT_ONCE = 30

interface RunOptions {
  onProgress?(pending: readonly Check[]): void
  timeoutMs?: number
  /** Aborts the checks that run, and starts no more. */
  stop?: AbortSignal
}

/** The results are in the order of the checks. Rejects if it was stopped, once the checks that ran have ended. */
export async function runChecks(
  checks: readonly Check[],
  { onProgress = () => {}, timeoutMs = TIMEOUT_MS, stop }: RunOptions = {},
): Promise<FinishedCheck[]> {
  const pending = new Set(checks)
  const results = new Map<Check, CheckResult>()
  const waiting = checks.values()
  async function runNext(): Promise<void> {
    for (const check of waiting) {
      if (stop?.aborted) return
      results.set(check, await runCheck(check, timeoutMs, stop))
      pending.delete(check)
      onProgress([...pending])
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, runNext))
  stop?.throwIfAborted()
  return checks.flatMap((check) => {
    const { name, subject } = check
    const result = results.get(check)
    return result ? [{ name, ...(subject === undefined ? {} : { subject }), ...result }] : []
  })
}

async function runCheck(
  check: Check,
  timeoutMs: number,
  stop = new AbortController().signal,
): Promise<CheckResult> {
  const late = new AbortController()
  try {
    const running = check.run(AbortSignal.any([stop, late.signal]))
    const result = await withTimeout(timeoutMs, running)
    if (result) return presentable(result)
    late.abort()
    return failure(
      `no result within ${timeoutMs / 1_000} s`,
      'Run the command again; if the problem persists, check the network and the server that is queried',
    )
  } catch (error) {
    return presentable(
      failure(
        `the check failed: ${toError(error).message}`,
        'Read the log of the service; if it does not explain this, report it',
      ),
    )
  }
}

const MAX_SEEN = 600
// A record to publish must be whole: a long one of our own fits.
const MAX_FIX = 4_000

/** What servers and zones of others say is part of a result: the terminal, the log and the admin page show it. */
function presentable({ status, seen, fix }: CheckResult): CheckResult {
  const shown = (text: string, maxLength: number) => shortened(printableLines(text), maxLength)
  return { status, seen: shown(seen, MAX_SEEN), fix: shown(fix, MAX_FIX) }
}
