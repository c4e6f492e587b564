import { remeasureClock } from '../../address/server-clock.ts'
import type { MessageList } from '../../site/api.ts'
import { readJson, request } from '../../site/api-client.ts'
import { MAX_LISTED } from '../message-list.ts'
import { connectionStatus, messageStore } from '../messages.ts'
import { delay } from './retry.ts'

interface PollOptions {
  signal: AbortSignal
  /** Have the server check Gmail now, if this is an alias. */
  force?: boolean
}

/** Requests the whole list. Throws ApiError or NetworkError, or the reason of the signal. */
export type Poll = (options: PollOptions) => Promise<void>

const RESPONSE_TIMEOUT_MS = 20_000

/** Polls one mailbox. If nothing has changed, the server responds with 304, which is cheap. */
export function createPoll(token: string): Poll {
  let etag: string | undefined
  const requestList = async ({ signal, force }: PollOptions) => {
    const response = await request('/api/check-mail', {
      token,
      values: { limit: MAX_LISTED, force: force ? 1 : undefined },
      headers: etag ? { 'if-none-match': etag } : {},
      signal: AbortSignal.any([signal, AbortSignal.timeout(RESPONSE_TIMEOUT_MS)]),
    })
    remeasureClock(response.headers.get('date'))
    if (response.status === 304) return undefined
    const list = await readJson<MessageList>(response)
    // Otherwise the list is not applied.
    if (!signal.aborted) etag = response.headers.get('etag') ?? undefined
    return list
  }
  return (options) => messageStore.poll(() => requestList(options), options.signal)
}

const POLL_SECONDS = 5

export async function waitForNextPoll(signal: AbortSignal): Promise<void> {
  connectionStatus.value = { kind: 'looking', seconds: POLL_SECONDS }
  await delay(POLL_SECONDS, signal)
}
