import { Refusal, Unreachable } from './ask.ts'
import { say } from './words.ts'

/** What went wrong, for the reader: in his language where it is one of everybody's, else as the API says it. */
export function faultWords(fault: unknown): string {
  if (fault instanceof Unreachable) return say('site_unreachable')
  if (!(fault instanceof Refusal)) throw fault
  if (fault.status === 429) return say('site_too_often', { count: fault.retrySeconds ?? 1 })
  if (fault.status >= 500) return say('site_trouble')
  return fault.message
}
