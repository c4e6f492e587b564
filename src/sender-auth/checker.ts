import type { JobRequest } from '../base/fair-scheduler.ts'
import { plainIp } from '../base/ip.ts'
import type { Log } from '../base/log/log.ts'
import { toError } from '../base/problem.ts'
import { logFailure, openProcessPool, type ProcessPool, type Sandbox } from '../sandbox/pool.ts'
import type { ChildLost } from '../sandbox/process.ts'
import type { JobFailed } from '../sandbox/serve-jobs.ts'
import type { CheckResult, SenderCheckInput, SenderChecks } from '../shared/mail.ts'
import type { Dns } from './dns.ts'
import {
  type CheckJob,
  type CheckRequest,
  type CheckResponse,
  type DnsAnswer,
  type DnsQuery,
  queryKey,
} from './job.ts'

export interface CheckerOptions {
  dns: Dns
  /** Gets a line for each mail that could not be checked, with the reason and none of its content. */
  log: Pick<Log, 'warn' | 'error'>
  sandbox: Sandbox
  /** For all DNS queries of one check. SPF and DKIM run concurrently, then DMARC. */
  dnsMs?: number
  maxConcurrent?: number
  /** Most concurrent `background` checks. */
  maxBackground?: number
  /** Of mail, unless it is a single one. */
  maxBytes?: number
}

/** Checks senders in a child process, so that a mail that breaks a check does not harm the service. */
export function openChecker({
  dns,
  log,
  sandbox,
  dnsMs = 2_500,
  maxConcurrent = 100,
  maxBackground = 20,
  maxBytes = 64 * 1024 * 1024,
}: CheckerOptions) {
  const pool = openProcessPool<CheckJob, CheckResponse>(sandbox, {
    // Never reached: each of maxConcurrent mails has at most two jobs at a time.
    maxWaiting: 2 * maxConcurrent,
    maxWaitingPerKey: 2 * maxConcurrent,
    overloadMessage: 'Too many senders are waiting to be checked.',
  })
  const runCheck = checkRunner({ pool, dns, log, dnsMs })
  let concurrent = 0
  let bytes = 0
  let closed = false

  return {
    /**
     * Undefined if the client is unknown, if too many checks are pending, or if the child cannot be started. `background`:
     * nobody waits for the result, and most of the capacity is left to other checks.
     */
    async check(
      facts: SenderCheckInput,
      priority?: 'background',
    ): Promise<SenderChecks | undefined> {
      const size = facts.raw.length
      const clientIp = plainIp(facts.clientIp)
      const most = priority === 'background' ? maxBackground : maxConcurrent
      const full = concurrent >= most || (bytes > 0 && bytes + size > maxBytes)
      if (!clientIp || full) return undefined
      concurrent += 1
      bytes += size
      try {
        // Scheduled by client: costly mail of one delays the checks of others by its share only.
        const request = { owner: [`sender ${clientIp}`], background: priority === 'background' }
        return await runChecks(runCheck(request), { ...facts, clientIp })
      } catch (error) {
        // A mail is shown even if its sender cannot be checked.
        if (!closed) log.error({ err: toError(error) }, 'sender checks are unavailable')
        return undefined
      } finally {
        concurrent -= 1
        bytes -= size
      }
    },
    /** Leaves the sandbox open. */
    close(): void {
      closed = true
      dns.close()
      pool.close()
    },
  }
}

/** Runs one check to its end. Undefined if the mail cannot be checked, breaks the check, or needs too many DNS queries. */
type RunCheck = <K extends CheckRequest['kind']>(
  check: Extract<CheckRequest, { kind: K }>,
) => Promise<Extract<CheckResponse, { kind: K }> | undefined>

interface Deps {
  pool: Pick<ProcessPool<CheckJob, CheckResponse>, 'use'>
  dns: Pick<Dns, 'resolve'>
  log: Pick<Log, 'warn' | 'error'>
  dnsMs: number
}

// RFC 7208 allows one mail to cause two hundred, to name servers of the sender's choice.
const MAX_QUERIES = 60
// Each round brings at least one answer, unless the child misbehaves.
const MAX_ROUNDS = 60

/** Runs a check again and again, each time with the DNS answers it lacked, until it has a result. */
function checkRunner({ pool, dns, log, dnsMs }: Deps): (request: JobRequest) => RunCheck {
  /** If the child dies, the mail may not be the cause, and the result is stored for good: try again. */
  async function runWithRetry(job: CheckJob, request: JobRequest) {
    return await pool.use({}, request, async (run) => {
      const outcome = await run(job)
      return outcome.kind === 'lost' && outcome.reason === 'died' ? await run(job) : outcome
    })
  }

  async function resolveAll(
    queries: DnsQuery[],
    answers: Map<string, DnsAnswer>,
    signal: AbortSignal,
  ): Promise<void> {
    const resolve = async (query: DnsQuery) =>
      answers.set(queryKey(query), await dns.resolve(query, signal))
    await Promise.all(queries.map(resolve))
  }

  return (request) => async (check) => {
    const answers = new Map<string, DnsAnswer>()
    let signal: AbortSignal | undefined
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const outcome = await runWithRetry({ ...check, answers } as CheckJob, request)
      if (isResponseTo(check, outcome)) return outcome
      if (outcome.kind !== 'unknown') {
        logOutcome(log, check, outcome)
        return undefined
      }
      if (answers.size + outcome.queries.length > MAX_QUERIES) return undefined
      // From the first query on: the check may have waited for the child before.
      signal ??= AbortSignal.timeout(dnsMs)
      await resolveAll(outcome.queries, answers, signal)
    }
    return undefined
  }
}

type Outcome = CheckResponse | JobFailed | ChildLost

function isResponseTo<K extends CheckRequest['kind']>(
  check: Extract<CheckRequest, { kind: K }>,
  outcome: Outcome,
): outcome is Extract<CheckResponse, { kind: K }> {
  return outcome.kind === check.kind
}

/** Not logged if it cannot be checked: anyone can send such mail. */
function logOutcome(log: Deps['log'], { kind: check }: CheckRequest, outcome: Outcome): void {
  if (outcome.kind === 'uncheckable') return
  logFailure(log, { check }, failureOf(outcome), 'cannot check the sender of a mail')
}

/** A response to another check can only come from a compromised child. */
function failureOf(outcome: Outcome): JobFailed | ChildLost {
  if (outcome.kind === 'lost' || outcome.kind === 'failed') return outcome
  return { kind: 'failed', location: `unexpected response: ${outcome.kind}` }
}

/** All three checks of one mail. A check that the mail itself breaks is a permerror: a retry would not help. */
async function runChecks(
  runCheck: RunCheck,
  { clientIp, helo, mailFrom, shown, raw, receivedAt }: SenderCheckInput,
): Promise<SenderChecks> {
  const first = [
    runCheck<'spf'>({ kind: 'spf', clientIp, helo, mailFrom }),
    runCheck<'dkim'>({ kind: 'dkim', raw, receivedAt }),
  ] as const
  // If one of them rejects, the other may still need `raw`, which the caller frees.
  await Promise.allSettled(first)
  const [spf, dkim] = await Promise.all(first)
  const results = { spf: spf?.result ?? 'permerror', dkim: dkim?.result ?? 'permerror' }
  // The authors come from the DKIM check.
  if (!dkim) return { ...results, dmarc: 'permerror' }
  const { authors, fromFields } = dkim
  const passed = { spf: spf?.result === 'pass' ? [spf.domain] : [], dkim: dkim.domains }
  const dmarc = await runCheck<'dmarc'>({ kind: 'dmarc', authors, fromFields, shown, passed })
  return { ...results, dmarc: orTemperror(dmarc?.result ?? 'permerror', results) }
}

/** A failure may become a pass once DNS answers. */
function orTemperror(dmarc: CheckResult, { spf, dkim }: Omit<SenderChecks, 'dmarc'>): CheckResult {
  return dmarc === 'fail' && (spf === 'temperror' || dkim === 'temperror') ? 'temperror' : dmarc
}
