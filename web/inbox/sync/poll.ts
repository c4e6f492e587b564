import type { ApiResponses } from '../../site/api.ts'
import { readJson, request } from '../../site/api-client.ts'
import { MAX_LISTED } from '../message-list.ts'
import { isMailboxFull, messageStore } from '../messages.ts'

type CheckMail = ApiResponses['GET /api/check-mail']

interface PollOptions {
  signal: AbortSignal
  /** Seconds that the server may wait for a change before it responds. */
  wait?: number
  /** Have the server check Gmail now, if this is an alias. */
  force?: boolean
}

export interface Poller {
  /** Requests the whole list. Throws ApiError or NetworkError, or the reason of the signal. */
  poll(options: PollOptions): Promise<void>
  /** Requests only whether the mailbox is full, which no event says. */
  checkFull(signal: AbortSignal): Promise<void>
  /** False as long as we have no ETag: without one the server responds at once. */
  canWait(): boolean
}

const RESPONSE_TIMEOUT_MS = 20_000

/** Polls one mailbox. If nothing has changed, the server responds with 304, which is cheap. */
export function createPoller(token: string): Poller {
  let etag: string | undefined

  return {
    async poll({ signal, wait, force }) {
      const timeout = AbortSignal.timeout((wait ?? 0) * 1000 + RESPONSE_TIMEOUT_MS)
      const addedMeanwhile = messageStore.beginPoll()
      try {
        const response = await request('/api/check-mail', {
          token,
          values: { limit: MAX_LISTED, wait, force: force ? 1 : undefined },
          headers: etag ? { 'if-none-match': etag } : {},
          signal: AbortSignal.any([signal, timeout]),
        })
        if (response.status === 304) return
        const { timed_out, messages, full } = await readJson<CheckMail>(response)
        if (signal.aborted) return
        etag = response.headers.get('etag') ?? undefined
        if (!timed_out) messageStore.setSnapshot(messages, addedMeanwhile)
        isMailboxFull.value = full === true
      } finally {
        messageStore.endPoll(addedMeanwhile)
      }
    },
    async checkFull(signal) {
      const response = await request('/api/check-mail', { token, values: { limit: 1 }, signal })
      isMailboxFull.value = (await readJson<CheckMail>(response)).full === true
    },
    canWait: () => etag !== undefined,
  }
}
