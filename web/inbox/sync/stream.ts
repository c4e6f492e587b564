import { computed, effect, signal } from '@preact/signals'
import type { ServerSentEvent } from '../../../src/shared/event-stream-parser.ts'
import { isExpired, type Mailbox } from '../../address/mailbox.ts'
import { currentMailbox, mailboxes } from '../../address/mailboxes.ts'
import { serverNow } from '../../address/server-clock.ts'
import type { MessageSummary } from '../../site/api.ts'
import { ApiError, NetworkError } from '../../site/api-client.ts'
import { withLock } from '../../site/lock.ts'
import { endedToken, messageStore, transport } from '../messages.ts'
import { pollCurrent, pollOthers, pollUnlessEnded, waitForNextPoll } from './poll.ts'
import { delay, endDelays, retryDelaySeconds } from './retry.ts'
import { FIRST_DATA_MS, readStream, SILENCE_MS, whileVisible } from './sse.ts'

// One stream for all addresses of this browser, which its tabs share: the tab that holds the lock reads the stream and passes
// its events on. Over HTTP/1.1 a browser has six connections to a site, and each stream occupies one.

// Whether the mailbox is full is in the list only: one request for many messages that arrive together.
const POLL_AFTER_MAIL_MS = 5_000
// A stream that is always cut off this soon does not count as working.
const MIN_STREAM_MS = 5_000
// The limit of the API.
const MAX_STREAMED = 20
const LOCK = 'mayfly stream'

/** What tabs tell each other. */
type Passed =
  /** From the tab that reads the stream: it covers these addresses. `isNew`: events may have been missed. */
  | { kind: 'open'; emails: readonly string[]; isNew: boolean }
  | { kind: 'data' }
  | { kind: 'event'; email: string; event: ServerSentEvent }
  /** From the others: what a tab shows from now on. */
  | { kind: 'shown'; tab: number; email: string }

/** Undefined where the browser blocks storage for this site. */
const channel = openChannel()
const pass = (message: Passed) => channel?.postMessage(message)

function openChannel(): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel('mayfly stream')
  } catch {
    return undefined
  }
}

const tab = Math.random()
/** The address that each of the other tabs shows; empty once it is closed. */
const shownElsewhere = signal<ReadonlyMap<number, string>>(new Map())
const addressesElsewhere = computed(() => new Set(shownElsewhere.value.values()))

/** Those that are shown precede the others. */
export const liveMailboxes = computed(() => {
  const current = currentMailbox.value
  const others = mailboxes.value
    .filter(({ email }) => email !== current?.email)
    .sort((a, b) => Number(isShown(b)) - Number(isShown(a)))
  return [...(current ? [current] : []), ...others].filter(
    (one) => !isExpired(one, serverNow()) && one.token !== endedToken.value,
  )
})
const wantedMailboxes = computed(() => liveMailboxes.value.slice(0, MAX_STREAMED))
const isShown = ({ email }: Mailbox) => addressesElsewhere.value.has(email)

/** The addresses that the stream covers, while this tab reads it. */
let leading: readonly string[] | undefined
/** Called for each sign of life of the tab that reads the stream. */
let onSign: (() => void) | undefined
let lastDataAt = 0

export function msSinceLastData(): number {
  return Date.now() - lastDataAt
}

channel?.addEventListener('message', ({ data }: MessageEvent<Passed>) => {
  if (data.kind === 'shown') {
    shownElsewhere.value = new Map([...shownElsewhere.peek(), [data.tab, data.email]])
    if (leading) pass({ kind: 'open', emails: leading, isNew: false })
    return
  }
  lastDataAt = Date.now()
  onSign?.()
  if (data.kind === 'event') applyEvent(data.email, data.event)
  if (data.kind === 'open' && (data.isNew || !covered.peek())) setOpen(data.emails)
})

/** What the open stream covers, as far as this tab knows. */
const streamed = signal<readonly string[]>([])
/** False if the address that is shown is live, but not among them. */
const covered = computed(() => {
  const [first] = wantedMailboxes.value
  const isLive = first !== undefined && first.email === currentMailbox.value?.email
  return !isLive || streamed.value.includes(first.email)
})

const passShown = (email = '') => pass({ kind: 'shown', tab, email })
currentMailbox.subscribe((mailbox) => {
  if (onSign && mailbox) passShown(mailbox.email)
})
addEventListener('pagehide', () => passShown())
// The browser has restored the page from its cache.
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted || !onSign) return
  passShown(currentMailbox.peek()?.email)
  // Events of the meantime were missed.
  if (streamed.peek().length > 0) setOpen(streamed.peek())
})

function setOpen(emails: readonly string[]): void {
  streamed.value = emails
  if (covered.peek()) transport.value = { kind: 'live' }
  // The stream does not repeat deletions from before it was opened.
  void verify?.(false).catch(() => undefined)
  void pollOthers(emails)
}

/** Polls the addresses that are not shown: those that no stream covers, or whose list could not be loaded. */
export function pollUncovered(): void {
  const { kind } = transport.peek()
  if (kind !== 'live' && kind !== 'looking') return
  const emails = liveMailboxes.peek().map(({ email }) => email)
  const isLive = (email: string) => kind === 'live' && streamed.peek().includes(email)
  void pollOthers(emails.filter((email) => !isLive(email) || !messageStore.isLoaded(email)))
}

/** Polls once while a stream is open; if that fails, so has the stream. */
let verify: ((force: boolean) => Promise<void>) | undefined

/** Polls now, or ends the delay before the next poll. Throws ApiError if we are rate limited. */
export async function pollNow({ force = false } = {}): Promise<void> {
  if (!endDelays()) await verify?.(force)
}

/** The tab that read the stream before has gone silent without giving up the lock: it was suspended. */
let isSilent = false

/** Receives mail by the event stream until it ends, in this tab or in another. Throws if it does not work. */
export async function receiveStream(): Promise<void> {
  const failed = new AbortController()
  const { signal } = failed
  const verifyThis = async (force: boolean) => {
    try {
      await pollCurrent({ signal, force })
    } catch (error) {
      // A rate limit says nothing about the stream.
      if (error instanceof ApiError && error.status === 429) throw error
      failed.abort(error)
    }
  }
  verify = verifyThis
  try {
    const options = isSilent ? { steal: true } : { ifAvailable: true }
    isSilent = false
    const result = channel ? await withLock(LOCK, options, () => lead(signal)) : 'none'
    if (result === 'taken') await follow(signal)
    // Without locks or a channel we do not know about other tabs, but few of them are visible at once.
    if (result !== 'none') return
    const read = (until: AbortSignal) => lead(AbortSignal.any([signal, until]))
    if (!(await whileVisible(read))) await waitForNextPoll(signal)
  } finally {
    if (verify === verifyThis) verify = undefined
    failed.abort()
  }
}

/** Another tab reads the stream; when it is closed, this one may. */
async function follow(signal: AbortSignal): Promise<void> {
  const failed = new AbortController()
  const abortSilent = () => {
    isSilent = true
    failed.abort(new NetworkError('the tab that reads the event stream went silent'))
  }
  let timer = setTimeout(abortSilent, FIRST_DATA_MS)
  streamed.value = []
  // The tab that reads the stream may not know the address, because the browser could not store it, or have too many.
  const stopWatching = effect(() => {
    if (streamed.value.length === 0) return undefined
    transport.value = { kind: covered.value ? 'live' : 'starting' }
    if (covered.value) return undefined
    const uncovered = new NetworkError('the event stream does not cover this address')
    const limit = setTimeout(() => failed.abort(uncovered), FIRST_DATA_MS)
    return () => clearTimeout(limit)
  })
  const stop = () => {
    clearTimeout(timer)
    stopWatching()
    onSign = undefined
  }
  onSign = () => {
    clearTimeout(timer)
    timer = setTimeout(abortSilent, SILENCE_MS)
  }
  try {
    if (currentMailbox.peek()) passShown(currentMailbox.peek()?.email)
    const ended = AbortSignal.any([signal, failed.signal])
    await withLock(LOCK, { signal: ended }, () => {
      stop()
      return lead(signal)
    })
    failed.signal.throwIfAborted()
    signal.throwIfAborted()
  } finally {
    stop()
  }
}

/** Reads the stream, and opens it again for an address that it does not cover. */
async function lead(signal: AbortSignal): Promise<void> {
  for (;;) {
    const boxes = wantedMailboxes.peek()
    if (boxes.length === 0) return
    const isCovered = ({ token }: Mailbox) => boxes.some((box) => box.token === token)
    const missing = new AbortController()
    const stop = effect(() => {
      if (!wantedMailboxes.value.every(isCovered)) missing.abort()
    })
    try {
      await readFor(boxes, AbortSignal.any([signal, missing.signal]))
      return
    } catch (error) {
      if (!missing.signal.aborted || signal.aborted) throw error
    } finally {
      leading = undefined
      stop()
    }
  }
}

async function readFor(boxes: readonly Mailbox[], signal: AbortSignal): Promise<void> {
  const emails = boxes.map(({ email }) => email)
  let openedAt = Number.POSITIVE_INFINITY
  let reconnectSeconds: number | undefined
  const onData = () => {
    lastDataAt = Date.now()
    pass({ kind: 'data' })
  }
  const onOpen = () => {
    openedAt = Date.now()
    leading = emails
    pass({ kind: 'open', emails, isNew: true })
    setOpen(emails)
  }
  const onEvent = (event: ServerSentEvent) => {
    if (event.name === 'shutting_down') {
      reconnectSeconds = Number(event.data) / 1000
      return
    }
    const { email, index = 0 } = JSON.parse(event.data) as { email?: string; index?: number }
    // Events of a single address do not name it, nor do those of one that had ended before.
    const address = email ?? emails[index] ?? ''
    pass({ kind: 'event', email: address, event })
    applyEvent(address, event)
  }
  const since = emails.map((email) =>
    messageStore.isLoaded(email) ? messageStore.newestId(email) : '',
  )
  const tokens = boxes.map(({ token }) => token)
  try {
    await readStream({ tokens, since, signal, onOpen, onData, onEvent })
    if (reconnectSeconds === undefined) throw new NetworkError('the event stream was closed')
  } catch (error) {
    // Every stream ends some day: one that lasted has worked.
    if (signal.aborted || Date.now() - openedAt < MIN_STREAM_MS) throw error
  }
  // A planned restart: reconnect when asked to, and show nothing meanwhile.
  if (reconnectSeconds !== undefined) {
    await delay(retryDelaySeconds(1, Math.random(), reconnectSeconds), signal)
  }
}

let isPollPlanned = false

function pollAfterMail(): void {
  if (isPollPlanned) return
  isPollPlanned = true
  setTimeout(() => {
    isPollPlanned = false
    // The stream has just brought mail, so it works, whatever becomes of this request.
    pollCurrent().catch(() => undefined)
  }, POLL_AFTER_MAIL_MS)
}

function applyEvent(email: string, { name, data }: ServerSentEvent): void {
  const mailbox = mailboxes.peek().find((one) => one.email === email)
  if (!mailbox) return
  if (name === 'message') messageStore.add(email, JSON.parse(data) as MessageSummary)
  if (name === 'message' && email === currentMailbox.peek()?.email) pollAfterMail()
  if (name === 'updated') messageStore.update(email, JSON.parse(data) as MessageSummary)
  if (name === 'deleted') {
    messageStore.remove(email, { ids: [(JSON.parse(data) as { id: number }).id] })
  }
  // The server says how it ended.
  if (name === 'end') pollUnlessEnded(mailbox).catch(() => undefined)
}
