import type { DNSResolver } from 'mailauth'
import { serveJobs } from '../sandbox/serve-jobs.ts'
import { checkDkim, checkDmarc, checkSpf, MAX_KEYS } from './checks.ts'
import { resolverFromAnswers } from './dns.ts'
import type { CheckJob, CheckResponse } from './job.ts'

// Entry point of the sender check process, which may read these modules and nothing else.
serveJobs<CheckJob, CheckResponse>(async (job) => {
  const known = resolverFromAnswers(job.answers, job.kind === 'dkim' ? MAX_KEYS : undefined)
  const response = await check(job, known.resolver)
  const queries = known.missing()
  return queries.length > 0 ? { kind: 'unknown', queries } : response
})

function check(job: CheckJob, resolver: DNSResolver): Promise<CheckResponse> {
  if (job.kind === 'spf') return checkSpf(job, resolver)
  return job.kind === 'dkim' ? checkDkim(job, resolver) : checkDmarc(job, resolver)
}
