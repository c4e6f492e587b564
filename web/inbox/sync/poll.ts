import type { Mailbox } from '../../address/mailbox.ts'
import { currentMailbox, mailboxes, markExpired, noteSettings } from '../../address/mailboxes.ts'
import { remeasureClock } from '../../address/server-clock.ts'
import type { MessageList } from '../../site/api.ts'
import { ApiError, readJson, request } from '../../site/api-client.ts'
import { MAX_LISTED } from '../message-list.ts'
import { endedToken, messageStore, transport } from '../messages.ts'
import { delay } from './retry.ts'

interface PollOptions {
  signal?: AbortSignal
  /** Have the server check Gmail now, if this is an alias. */
  force?: boolean
}

const RESPONSE_TIMEOUT_MS = 20_000

/** ETags of the lists that were applied last, by token. */
const etags = new Map<string, string>()

/**
 * Requests the whole list of an address. If nothing has changed, the server responds with 304, which is cheap. Throws ApiError
 * or NetworkError, or the reason of the signal.
 */
async function pollMailbox(mailbox: Mailbox, options: PollOptions = {}): Promise<void> {
  const { email, token } = mailbox
  await messageStore.poll(email, async () => {
    const etag = messageStore.isLoaded(email) ? etags.get(token) : undefined
    const timeout = AbortSignal.timeout(RESPONSE_TIMEOUT_MS)
    const response = await request('/api/check-mail', {
      token,
      values: { limit: MAX_LISTED, force: options.force ? 1 : undefined },
      headers: etag ? { 'if-none-match': etag } : {},
      signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
    })
    remeasureClock(response.headers.get('date'))
    if (response.status === 304) return undefined
    const list = await readJson<MessageList>(response)
    etags.set(token, response.headers.get('etag') ?? '')
    noteSettings(mailbox, list)
    return list
  })
}

/** Polls the address that is shown, unless it has ended. */
export async function pollCurrent(options?: PollOptions): Promise<void> {
  const mailbox = currentMailbox.peek()
  if (mailbox && mailbox.token !== endedToken.peek()) await pollUnlessEnded(mailbox, options)
}

/** Throws like `pollMailbox`, but not if the address has ended. */
export async function pollUnlessEnded(mailbox: Mailbox, options?: PollOptions): Promise<void> {
  try {
    await pollMailbox(mailbox, options)
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error
    messageStore.forget(mailbox.email)
    if (currentMailbox.peek()?.token === mailbox.token) endedToken.value = mailbox.token
    markExpired(mailbox)
  }
}

/** Addresses that are still to be polled. One that is added again while it is polled is polled once more. */
const waiting = new Set<string>()
let isPolling = false

/** Polls these, except the one that is shown, one after the other. */
export async function pollOthers(emails: readonly string[]): Promise<void> {
  for (const email of emails) waiting.add(email)
  if (isPolling) return
  isPolling = true
  for (const email of waiting) {
    waiting.delete(email)
    const mailbox = mailboxes.peek().find((one) => one.email === email)
    if (!mailbox || email === currentMailbox.peek()?.email) continue
    // The current address shows whether there is a connection.
    await pollUnlessEnded(mailbox).catch(() => undefined)
  }
  isPolling = false
}

const POLL_SECONDS = 5

export async function waitForNextPoll(signal: AbortSignal): Promise<void> {
  transport.value = { kind: 'looking', seconds: POLL_SECONDS }
  await delay(POLL_SECONDS, signal)
}
