import { computed, effect } from '@preact/signals'
import type { Mailbox } from '../address/mailbox.ts'
import { currentMailbox } from '../address/mailboxes.ts'
import type { MessageList } from '../site/api.ts'
import { ApiError, NetworkError, requestJson } from '../site/api-client.ts'
import { MAX_LISTED } from './message-list.ts'
import { messageStore } from './messages.ts'
import { isAllShown, searchQuery, textMatches } from './rows.ts'
import { delay } from './sync/retry.ts'
import { liveMailboxes } from './sync/stream.ts'

// The limits of the API.
const MIN_LENGTH = 2
const MAX_LENGTH = 100
// After the last key. The server allows 60 searches a minute, of each address.
const TYPING_SECONDS = 0.4
const INCOMPLETE_SECONDS = 3
// A text that is too long is never searched to its end.
const MAX_TRIES = 10

const searched = computed(() => {
  if (isAllShown.value) return liveMailboxes.value
  return currentMailbox.value ? [currentMailbox.value] : []
})
/** Changes with the addresses, in any order, and with new mail. */
const state = computed(() =>
  searched.value
    .map(({ email, token }) => `${token} ${messageStore.newestId(email)}`)
    .sort()
    .join(),
)

/** Searches texts on the server. Senders and subjects are matched at once, without it. */
export function startSearch(): void {
  let running: AbortController | undefined
  effect(() => {
    const query = searchQuery.value.trim()
    const isKnown = state.value !== ''
    running?.abort()
    if (!isKnown || query.length < MIN_LENGTH || query.length > MAX_LENGTH) return
    running = new AbortController()
    void search(query, searched.peek(), running.signal)
  })
}

async function search(query: string, all: readonly Mailbox[], signal: AbortSignal): Promise<void> {
  try {
    await delay(TYPING_SECONDS, signal, { isFixed: true })
    let rest = all
    for (let tries = 1; rest.length > 0 && tries <= MAX_TRIES; tries += 1) {
      if (tries > 1) await delay(INCOMPLETE_SECONDS, signal, { isFixed: true })
      const incomplete: Mailbox[] = []
      for (const mailbox of rest) {
        if (!(await isSearched(query, mailbox, signal))) incomplete.push(mailbox)
      }
      rest = incomplete
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** False if some messages were not parsed in time. */
async function isSearched(
  query: string,
  { email, token }: Mailbox,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const options = { token, values: { q: query, limit: MAX_LISTED }, signal }
    const found = await requestJson<MessageList>('/api/check-mail', options)
    const before = textMatches.value?.query === query ? textMatches.value.ids : []
    const ids = new Set(found.messages.map(({ id }) => id))
    textMatches.value = { query, ids: new Map([...before, [email, ids]]) }
    return !found.incomplete
  } catch (error) {
    // The rest of the search works without it.
    if (error instanceof ApiError || error instanceof NetworkError) return true
    throw error
  }
}
