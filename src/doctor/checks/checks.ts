import { toError } from '../../base/problem.ts'
import { type CheckResult, type FinishedCheck, failure } from '../rules/result.ts'
import type { Check, CheckContext } from './context.ts'
import { dnsChecks, listingChecks } from './dns-checks.ts'
import { openFacts } from './facts.ts'
import { backendChecks, installationChecks } from './installation-checks.ts'
import { smtpChecks } from './smtp-checks.ts'

/** All checks of this installation. Facts that several of them need are established once, so make a new list for each run. */
export function listChecks(context: CheckContext, { listings = false } = {}): Check[] {
  const facts = openFacts(context)
  return [
    ...installationChecks(context, facts),
    ...smtpChecks(context, facts),
    ...dnsChecks(context, facts),
    ...backendChecks(context),
    ...(listings ? listingChecks(context, facts) : []),
  ]
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
  stop: AbortSignal | undefined,
): Promise<CheckResult> {
  const late = Promise.withResolvers<CheckResult>()
  const controller = new AbortController()
  const timer = setTimeout(() => {
    controller.abort()
    late.resolve(
      failure(
        `no result within ${timeoutMs / 1_000} s`,
        'Run the command again; if the problem persists, check the network and the server that is queried',
      ),
    )
  }, timeoutMs)
  const signal = stop ? AbortSignal.any([stop, controller.signal]) : controller.signal
  try {
    return await Promise.race([check.run(signal), late.promise])
  } catch (error) {
    return failure(
      `the check failed: ${toError(error).message}`,
      'Read the log of the service; if it does not explain this, report it',
    )
  } finally {
    clearTimeout(timer)
  }
}
