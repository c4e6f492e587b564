import type { Answers } from '../site/api.ts'
import { jsonOf, send } from '../site/ask.ts'
import { MOST_LISTED } from './listing.ts'
import { full, mail } from './mail.ts'

type List = Answers['GET /api/check-mail']

interface LookOptions {
  signal: AbortSignal
  /** Seconds that the server may wait for something new before it answers. */
  wait?: number
  /** Of a Gmail alias: the server looks there now. */
  force?: boolean
}

export interface Look {
  /** Asks for the whole list. Throws Refusal or Unreachable, or what the signal was aborted with. */
  (options: LookOptions): Promise<void>
  /** Asks only whether the mailbox is full: no event tells it. */
  full(signal: AbortSignal): Promise<void>
  /** False when the server cannot be asked to wait, because nothing says what we know already. */
  canWait(): boolean
}

const ANSWER_MS = 20_000

/** Looks into one mailbox. An unchanged one costs the server next to nothing: it answers 304. */
export function looker(token: string): Look {
  let tag: string | undefined

  async function look({ signal, wait, force }: LookOptions): Promise<void> {
    const patience = AbortSignal.timeout((wait ?? 0) * 1000 + ANSWER_MS)
    const since = mail.asks()
    try {
      const response = await send('/api/check-mail', {
        token,
        values: { limit: MOST_LISTED, wait, force: force ? 1 : undefined },
        headers: tag ? { 'if-none-match': tag } : {},
        signal: AbortSignal.any([signal, patience]),
      })
      if (response.status === 304) return
      const answer = await jsonOf<List>(response)
      if (signal.aborted) return
      tag = response.headers.get('etag') ?? undefined
      if (!answer.timed_out) mail.listed(answer.messages, since)
      full.value = answer.full === true
    } finally {
      mail.asked(since)
    }
  }

  return Object.assign(look, {
    async full(signal: AbortSignal) {
      const response = await send('/api/check-mail', { token, values: { limit: 1 }, signal })
      const answer = await jsonOf<List>(response)
      full.value = answer.full === true
    },
    canWait: () => tag !== undefined,
  })
}
