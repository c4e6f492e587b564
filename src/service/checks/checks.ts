import { type CheckResult, type FinishedCheck, failure } from '../../core/checks/result.ts'
import { toError } from '../../core/problem.ts'
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

/** Runs all checks at once; the results are in their order. */
export async function runChecks(
  checks: readonly Check[],
  {
    onProgress = () => {},
    timeoutMs = TIMEOUT_MS,
  }: { onProgress?(pending: readonly Check[]): void; timeoutMs?: number } = {},
): Promise<FinishedCheck[]> {
  const pending = new Set(checks)
  return await Promise.all(
    checks.map(async (check) => {
      const { name, subject } = check
      const result = await runCheck(check, timeoutMs)
      pending.delete(check)
      onProgress([...pending])
      return { name, ...(subject === undefined ? {} : { subject }), ...result }
    }),
  )
}

async function runCheck(check: Check, timeoutMs: number): Promise<CheckResult> {
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
  try {
    return await Promise.race([check.run(controller.signal), late.promise])
  } catch (error) {
    return failure(
      `the check failed: ${toError(error).message}`,
      'Read the log of the service; if it does not explain this, report it',
    )
  } finally {
    clearTimeout(timer)
  }
}
