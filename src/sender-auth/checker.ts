import type { JobLimits } from '../sandbox/process.ts'
import { openPool } from '../sandbox/pool.ts'
import { asError } from '../core/fault.ts'
import { plainIp } from '../core/ip.ts'
import type { Log } from '../core/log.ts'
import type { SenderChecks } from '../core/message.ts'
import type { SenderFacts } from '../core/sender.ts'
import type { Dns } from './dns.ts'
import type { Answer, Job } from './job.ts'
import { judge } from './judge.ts'
import { settler } from './settle.ts'

/** Judges senders in a child process: whatever a mail does to its judge, it does not do it to the service. */
interface SenderChecker {
  /** Undefined when nothing is known of how the mail came, when too many are waiting, and when there is no child to judge it. `later`: nobody waits for it, and it leaves the others most of the room. */
  check(facts: SenderFacts, haste?: 'later'): Promise<SenderChecks | undefined>
  close(): Promise<void>
}

export interface CheckerOptions {
  dns: Dns
  /** Hears of each mail that could not be judged, and why; nothing that stands in it. */
  log: Pick<Log, 'warn' | 'error'>
  limits?: Partial<JobLimits>
  /** For the answers to all questions of one check; two checks are made at once, then the third. */
  dnsMs?: number
  maxUnderWay?: number
  /** Of those that nobody waits for. */
  maxLater?: number
  maxBytes?: number
  /** What the child runs. */
  script?: URL
}

export function openChecker({
  dns,
  log,
  limits = {},
  dnsMs = 2_500,
  maxUnderWay = 100,
  maxLater = 20,
  maxBytes = 64 * 1024 * 1024,
  script = new URL('./child.ts', import.meta.url),
}: CheckerOptions): SenderChecker {
  const pool = openPool<Job, Answer>({
    name: 'sender check',
    script,
    folder: new URL('./', import.meta.url),
    children: 1,
    limits,
    // The mails are counted here, and each has at most two jobs under way.
    maxWaiting: 2 * maxUnderWay,
    maxWaitingPerKey: 2 * maxUnderWay,
    refusal: 'Too many senders are waiting to be checked.',
  })
  const settle = settler({ pool, dns, log, dnsMs })
  let underWay = 0
  let bytes = 0
  let closed = false

  return {
    async check(facts, haste) {
      const size = facts.raw.length
      const clientIp = plainIp(facts.clientIp)
      const most = haste === 'later' ? maxLater : maxUnderWay
      const full = underWay >= most || bytes + size > maxBytes
      if (!clientIp || full) return undefined
      underWay += 1
      bytes += size
      try {
        // By sender: whose mail is costly to check delays the checks of others by its share and no more.
        const request = { owner: [`sender ${clientIp}`], background: haste === 'later' }
        return await judge(settle(request), { ...facts, clientIp })
      } catch (error) {
        // Nobody is kept from a mail because we cannot say who sent it.
        if (!closed) log.error({ err: asError(error) }, 'senders cannot be checked')
        return undefined
      } finally {
        underWay -= 1
        bytes -= size
      }
    },
    async close() {
      closed = true
      dns.close()
      await pool.close()
    },
  }
}
