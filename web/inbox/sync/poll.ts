import type { Answers } from '../../site/api.ts'
import { readJson, request } from '../../site/api-client.ts'
import { MAX_LISTED } from '../message-list.ts'
import { isMailboxFull, messageStore } from '../messages.ts'

type List = Answers['GET /api/check-mail']

interface PollOptions {
  signal: AbortSignal
  /** Seconds that the server may wait for something new before it answers. */
  wait?: number
  /** Of a Gmail alias: the server looks there now. */
  force?: boolean
}

export interface Poller {
  /** Asks for the whole list. Throws Refusal or Unreachable, or what the signal was aborted with. */
  (options: PollOptions): Promise<void>
  /** Asks only whether the mailbox is full: no event tells it. */
  full(signal: AbortSignal): Promise<void>
  /** False when the server cannot be asked to wait, because nothing says what we know already. */
  canWait(): boolean
}

const RESPONSE_TIMEOUT_MS = 20_000

/** Looks into one mailbox. An unchanged one costs the server next to nothing: it answers 304. */
export function createPoller(token: string): Poller {
  let etag: string | undefined

  async function poll({ signal, wait, force }: PollOptions): Promise<void> {
    const timeout = AbortSignal.timeout((wait ?? 0) * 1000 + RESPONSE_TIMEOUT_MS)
    const since = messageStore.beginPoll()
    try {
      const response = await request('/api/check-mail', {
        token,
        values: { limit: MAX_LISTED, wait, force: force ? 1 : undefined },
        headers: etag ? { 'if-none-match': etag } : {},
        signal: AbortSignal.any([signal, timeout]),
      })
      if (response.status === 304) return
      const answer = await readJson<List>(response)
      if (signal.aborted) return
      etag = response.headers.get('etag') ?? undefined
      if (!answer.timed_out) messageStore.setSnapshot(answer.messages, since)
      isMailboxFull.value = answer.full === true
    } finally {
      messageStore.endPoll(since)
    }
  }

  return Object.assign(poll, {
    async full(signal: AbortSignal) {
      const response = await request('/api/check-mail', { token, values: { limit: 1 }, signal })
      const answer = await readJson<List>(response)
      isMailboxFull.value = answer.full === true
    },
    canWait: () => etag !== undefined,
  })
}
