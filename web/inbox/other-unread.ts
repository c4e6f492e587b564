import { computed, signal } from '@preact/signals'
import { isExpired, type Mailbox } from '../address/mailbox.ts'
import { currentMailbox, mailboxes, markExpired } from '../address/mailboxes.ts'
import { serverNow } from '../address/server-clock.ts'
import type { MessageList } from '../site/api.ts'
import { ApiError, NetworkError, readJson, request } from '../site/api-client.ts'
import { readIdsOf } from './messages.ts'

const INTERVAL_MS = 60_000
// More addresses than anyone waits for mail at; each costs a request.
const MAX_CHECKED = 20
const MAX_LISTED = 100

/** Ids of the newest messages, by address, and the ETag of that list. */
const listed = signal<ReadonlyMap<string, { ids: readonly number[]; etag: string }>>(new Map())

/** How many messages of the other addresses are unread, by address. */
export const otherUnread = computed(
  () =>
    new Map(
      [...listed.value].map(([email, { ids }]) => {
        const read = new Set(readIdsOf(email))
        return [email, ids.filter((id) => !read.has(id)).length] as const
      }),
    ),
)

/** Checks them now and then while the page is visible. Only the current address has a stream. */
export function startOtherUnread(): void {
  const check = () => {
    if (document.visibilityState === 'visible') void checkOthers()
  }
  setInterval(check, INTERVAL_MS)
  document.addEventListener('visibilitychange', check)
  // Changes with the address that is shown.
  currentMailbox.subscribe(check)
}

let isChecking = false

async function checkOthers(): Promise<void> {
  if (isChecking) return
  isChecking = true
  const current = currentMailbox.peek()?.email
  const others = mailboxes
    .peek()
    .filter((one) => one.email !== current && !isExpired(one, serverNow()))
    .slice(0, MAX_CHECKED)
  for (const mailbox of others) await check(mailbox)
  isChecking = false
}

async function check(mailbox: Mailbox): Promise<void> {
  const { email, token } = mailbox
  const before = listed.peek().get(email)
  try {
    const response = await request('/api/check-mail', {
      token,
      values: { limit: MAX_LISTED },
      headers: before?.etag ? { 'if-none-match': before.etag } : {},
    })
    if (response.status === 304) return
    const { messages } = await readJson<MessageList>(response)
    const entry = { ids: messages.map(({ id }) => id), etag: response.headers.get('etag') ?? '' }
    listed.value = new Map([...listed.peek(), [email, entry]])
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) markExpired(mailbox)
    else if (!(error instanceof ApiError || error instanceof NetworkError)) throw error
  }
}
