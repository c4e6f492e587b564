import { effect } from '@preact/signals'
import { currentMailbox } from '../address/mailboxes.ts'
import type { MessageList } from '../site/api.ts'
import { ApiError, NetworkError, requestJson } from '../site/api-client.ts'
import { MAX_LISTED } from './message-list.ts'
import { messageStore, searchQuery, textMatches } from './messages.ts'
import { delay } from './sync/retry.ts'

// The limits of the API.
const MIN_LENGTH = 2
const MAX_LENGTH = 100
// After the last key. The server allows 60 searches a minute.
const TYPING_SECONDS = 0.4
const INCOMPLETE_SECONDS = 3

/** Searches texts on the server. Senders and subjects are matched at once, without it. */
export function startSearch(): void {
  let running: AbortController | undefined
  effect(() => {
    const query = searchQuery.value.trim()
    const token = currentMailbox.value?.token
    // Again for new mail.
    messageStore.newestId()
    running?.abort()
    if (!token || query.length < MIN_LENGTH || query.length > MAX_LENGTH) return
    running = new AbortController()
    void search(query, token, running.signal)
  })
}

async function search(query: string, token: string, signal: AbortSignal): Promise<void> {
  const options = { token, values: { q: query, limit: MAX_LISTED }, signal }
  try {
    await delay(TYPING_SECONDS, signal, { isFixed: true })
    for (;;) {
      const found = await requestJson<MessageList>('/api/check-mail', options)
      textMatches.value = { query, ids: new Set(found.messages.map(({ id }) => id)) }
      // Some messages were not parsed in time.
      if (!found.incomplete) return
      await delay(INCOMPLETE_SECONDS, signal, { isFixed: true })
    }
  } catch (error) {
    // The rest of the search works without it.
    if (signal.aborted || error instanceof ApiError || error instanceof NetworkError) return
    throw error
  }
}
