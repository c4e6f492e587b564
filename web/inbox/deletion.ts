import { ask, Refusal } from '../site/ask.ts'
import { backOffSeconds } from './back-off.ts'
import { DELETES, pacer } from './pace.ts'
import { pause } from './pause.ts'

/** One message that is to be deleted for good. */
export interface Deletion {
  token: string
  id: number
}

const MOST_TRIES = 6
const waitMs = pacer(DELETES)
const NEVER = new AbortController().signal

/** Deletes it on the server, sooner or later. False when that could not be done; what is gone already is done. */
export async function deleteSoon(deletion: Deletion): Promise<boolean> {
  await pause(waitMs(Date.now()) / 1000, NEVER)
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    try {
      await send(deletion)
      return true
    } catch (fault) {
      const refusal = fault instanceof Refusal ? fault : undefined
      // The message, or all of the mailbox.
      if (refusal?.status === 404 || refusal?.status === 401) return true
      const seconds = backOffSeconds(tries, Math.random(), refusal?.retrySeconds)
      await pause(seconds, NEVER, { firm: refusal?.status === 429 })
    }
  }
  return false
}

/** Sends it while the page goes away: nobody is there to hear the answer. */
export function deleteWhileLeaving(deletion: Deletion): void {
  send(deletion, true).catch(() => undefined)
}

async function send({ token, id }: Deletion, keepalive = false): Promise<void> {
  await ask('/api/delete-mail', { method: 'POST', token, values: { id }, keepalive })
}
