import { signal } from '@preact/signals'
import { faultWords } from '../site/fault-words.ts'
import { announceQuietly, tell } from '../site/told.ts'
import { say } from '../site/words.ts'
import { lookNow } from './hear.ts'
import { unreadCount } from './unread.ts'

/** True while the server is asked because the reader wished so. */
export const refreshing = signal(false)

/** Asks the server now; of a Gmail alias, Gmail too. */
export async function refresh(): Promise<void> {
  if (refreshing.value) return
  refreshing.value = true
  try {
    await lookNow({ force: true })
    announceQuietly(say('inbox_told_looked', { count: unreadCount.value }))
  } catch (fault) {
    tell(faultWords(fault))
  } finally {
    refreshing.value = false
  }
}
