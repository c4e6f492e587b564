import type { AccountHealth } from '../core/gmail.ts'
import { logFault } from '../service/background/log-fault.ts'
import type { ImapNeeds } from './deps.ts'

/** Tells the house and the operator how an account is, once for each change. */
export interface Teller {
  tell(health: AccountHealth, reason: string): Promise<void>
}

const SENTENCES: Record<AccountHealth, string> = {
  starting: 'an account is about to be fetched from',
  ok: 'an account is fetched from',
  slow: 'an account is fetched from slowly',
  failing: 'an account cannot be fetched from; tried again',
}

export function openTeller({ report, log }: ImapNeeds, account: string): Teller {
  let last = ''
  return {
    async tell(health, reason) {
      const state = `${health} ${reason}`
      if (state === last) return
      last = state
      const facts = reason ? { account, reason } : { account }
      if (health === 'failing') log.warn(facts, SENTENCES[health])
      else log.info(facts, SENTENCES[health])
      try {
        await report(health, reason)
      } catch (error) {
        // Fetching goes on; the next change is told again.
        last = ''
        logFault(log, error, 'the health of an account could not be kept', { account })
      }
    },
  }
}
