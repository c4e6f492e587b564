import { searchMessages } from '../../mail/list/search-mail.ts'
import type { SearchText } from '../../mail/rules/filter.ts'
import type { Message } from '../../mail/rules/message.ts'
import {
  type EmailQuery,
  type EmailsDeps,
  EXAMINED_AT_ONCE,
  keyScope,
  MAX_EXAMINED,
  type PageRequest,
  type Selection,
} from './emails.ts'

interface SearchSelection extends Selection {
  /** Some messages could not be read in time. */
  incomplete: boolean
}

/** The messages of a page whose sender, subject or text contains the search text. */
export async function searchEmails(
  deps: EmailsDeps,
  query: EmailQuery,
  search: SearchText,
  { client, signal }: PageRequest,
): Promise<SearchSelection> {
  const { keyId, filter, limit } = query
  const { messages, nextAfter } = await examined(deps, query, signal)
  const wanted = { search, filter, limit, client, signal }
  const found = await searchMessages(deps, `key ${keyId}`, messages, wanted)
  signal?.throwIfAborted()
  const ids = found.messages.map(({ id }) => id)
  return {
    // Some may have been deleted meanwhile.
    messages: ids.length > 0 ? await deps.store.readKeyMail(keyScope(deps, query), ids) : [],
    nextAfter: ids.length === limit ? ids.at(-1) : nextAfter,
    incomplete: found.incomplete,
  }
}

async function examined(
  deps: EmailsDeps,
  query: EmailQuery,
  signal: AbortSignal | undefined,
): Promise<Selection> {
  const messages: Message[] = []
  let { beforeId } = query
  while (messages.length < MAX_EXAMINED) {
    const page = { sinceId: query.sinceId, beforeId, limit: EXAMINED_AT_ONCE }
    const some = await deps.store.listKeyMail(keyScope(deps, query), page)
    signal?.throwIfAborted()
    messages.push(...some)
    if (some.length < EXAMINED_AT_ONCE) return { messages, nextAfter: undefined }
    beforeId = some.at(-1)?.id
  }
  return { messages, nextAfter: beforeId }
}
