import { capitalised } from './format.ts'
import { t } from './i18n.ts'

interface Outcome {
  status: number | null
  error: string | null
}

const REASONS = [
  'timeout',
  'not_resolved',
  'not_allowed',
  'connection_failed',
  'tls',
  'invalid_response',
  'gone',
  'failing',
] as const
const QUOTAS = ['plan_expired', 'quota_exhausted', 'daily_limit'] as const

/** Why deliveries fail or are paused, to follow a colon. Undefined if it is none of our codes. */
function knownReason(code: string): string | undefined {
  const status = /^status_(\d+)$/.exec(code)?.[1]
  if (status !== undefined) return t('hook_why_status', { status })
  const reason = REASONS.find((one) => one === code)
  if (reason) return t(`hook_why_${reason}`)
  const quota = QUOTAS.find((one) => one === code)
  return quota && t(`key_state_${quota}`)
}

/** The same, on its own; of an unknown code its words. */
export function webhookReason(code: string): string {
  const known = knownReason(code)
  return known === undefined ? code.replaceAll('_', ' ') : capitalised(known)
}

export function isDelivered({ status }: Outcome): boolean {
  return status !== null && status >= 200 && status < 300
}

/** The result of a test. */
export function testText({ ms, ...outcome }: Outcome & { ms: number }): string {
  const { status, error } = outcome
  const result = knownReason(error ?? `status_${status}`) ?? String(error)
  return t(isDelivered(outcome) ? 'hook_tested' : 'hook_test_failed_why', { result, ms })
}
