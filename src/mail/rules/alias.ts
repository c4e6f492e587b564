import { Problem } from '../../base/problem.ts'

const RETRY_SECONDS = 60

export function aliasesUnavailable(retrySeconds = RETRY_SECONDS): Problem {
  return new Problem(
    'gmail_unavailable',
    'No Gmail account is available at the moment.',
    retrySeconds,
  )
}
