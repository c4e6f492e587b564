import { batch, computed, signal } from '@preact/signals'
import type { Mailbox } from '../address/mailbox.ts'
import { currentMailbox, isStored, mailboxes } from '../address/mailboxes.ts'
import type { MessageList as Listed, MessageSummary } from '../site/api.ts'
import { localStore } from '../site/storage.ts'
import {
  arrivals,
  type DeletedMessages,
  type Deletion,
  EMPTY_LIST,
  type IdsByAddress,
  isDeletedBy,
  type MessageList,
  parseIds,
  withIds,
  withMessage,
  without,
  withSnapshot,
  withUpdate,
} from './message-list.ts'

/** How the page receives mail now: by stream (live) or by polling (looking). `until`: time of the next attempt, as of Date.now(). */
export type ConnectionStatus =
  | { kind: 'starting' }
  | { kind: 'live' }
  | { kind: 'looking'; seconds: number }
  | { kind: 'offline' | 'unreachable' | 'limited'; until: number }
  | { kind: 'ended' }

/** Of the connection that all addresses share. */
export const transport = signal<ConnectionStatus>({ kind: 'starting' })
/** Token of the current address, if the server has said that it has ended. */
export const endedToken = signal<string | undefined>(undefined)

/** Of the current address. */
export const connectionStatus = computed<ConnectionStatus>(() => {
  const mailbox = currentMailbox.value
  if (mailbox && mailbox.token === endedToken.value) return { kind: 'ended' }
  const isOpening = transport.value.kind === 'live' && !isLoaded.value
  return isOpening ? { kind: 'starting' } : transport.value
})

/** What is known of one address. */
interface MailboxState {
  list: MessageList
  /** The server has listed it. */
  isLoaded: boolean
  isFull: boolean
}

const UNKNOWN: MailboxState = { list: EMPTY_LIST, isLoaded: false, isFull: false }
const states = signal<ReadonlyMap<string, MailboxState>>(new Map())
const stateOf = (email: string | undefined) => states.value.get(email ?? '') ?? UNKNOWN
const currentState = computed(() => stateOf(currentMailbox.value?.email))
const messageList = computed(() => currentState.value.list)
/** True once the server has listed the mailbox. */
export const isLoaded = computed(() => currentState.value.isLoaded)
export const isMailboxFull = computed(() => currentState.value.isFull)
/** The mailbox has older messages that are not listed. */
export const isTruncated = computed(() => messageList.value.truncated)
/** Some mailbox has older messages that are not listed. */
export const isAnyTruncated = computed(() =>
  mailboxes.value.some(({ email }) => stateOf(email).list.truncated),
)
export interface PageDeletion extends Deletion {
  state: 'undoable' | 'sending' | 'failed'
}

/** Deleted by the user, not yet by the server; of all mailboxes. */
export const deletions = signal<readonly PageDeletion[]>([])
/** A link that the recipient is meant to follow. */
export interface ActionLink {
  kind: 'verify' | 'sign_in' | 'reset'
  url: string
  host: string
}

/** Links of the address that is shown, by the id of the message; undefined if it must not be offered. Loaded by links.ts. */
export const actionLinks = signal<ReadonlyMap<number, ActionLink | undefined>>(new Map())

/** Newest first. */
export const messages = computed(() =>
  // Not by `messagesOf`: nothing changes here when another address gets mail.
  currentMailbox.value ? undeleted(currentMailbox.value, messageList.value) : [],
)
/** Called with new messages of an address; not with those that were there when the page was opened. */
export const arrivalListeners = new Set<(messages: MessageSummary[], email: string) => void>()
/** The running polls. `changed`: what the stream has added or updated since it was sent. */
const activePolls = new Set<{ email: string; changed: Set<number> }>()
let sentPolls = 0
/** The number of the newest poll that was applied, by address. */
const newestApplied = new Map<string, number>()

/** The messages of all addresses, as stream and polls report them. */
export const messageStore = {
  newestId: (email = currentMailbox.value?.email) => stateOf(email).list.newest,
  isLoaded: (email: string) => stateOf(email).isLoaded,
  isTruncated: (email: string) => stateOf(email).list.truncated,
  /** The address has ended, or was removed from this browser. */
  forget(email: string): void {
    newestApplied.delete(email)
    if (!states.peek().has(email)) return
    const after = new Map(states.peek())
    after.delete(email)
    states.value = after
  },
  /** Forgets all others. */
  retain(emails: readonly string[]): void {
    for (const email of states.peek().keys()) {
      if (!emails.includes(email) && email !== currentMailbox.peek()?.email) {
        messageStore.forget(email)
      }
    }
  },
  /** As it was at the last visit, until the server lists it. */
  seed(email: string, rows: readonly MessageSummary[]): void {
    if (!states.peek().has(email)) setState(email, { list: { ...EMPTY_LIST, rows } })
  },
  add(email: string, message: MessageSummary): void {
    updateList(email, (before) => withMessage(before, message))
    markChanged(email, message)
  },
  update(email: string, message: MessageSummary): void {
    updateList(email, (before) => withUpdate(before, message))
    markChanged(email, message)
  },
  remove(email: string, deleted: DeletedMessages): void {
    updateList(email, (before) => without(before, deleted))
  },
  /** Applies the list that is requested here, unless it is unchanged or a later one was faster. */
  async poll(email: string, requestList: () => Promise<Listed | undefined>): Promise<void> {
    const running = { email, changed: new Set<number>() }
    activePolls.add(running)
    sentPolls += 1
    const number = sentPolls
    try {
      const list = await requestList()
      if (!list || number < (newestApplied.get(email) ?? 0)) return
      newestApplied.set(email, number)
      batch(() => {
        updateList(email, (before) => withSnapshot(before, list.messages, running.changed))
        setState(email, { isLoaded: true, isFull: list.full === true })
      })
    } finally {
      activePolls.delete(running)
    }
  },
}

function setState(email: string, change: Partial<MailboxState>): void {
  const before = states.peek().get(email) ?? UNKNOWN
  states.value = new Map([...states.peek(), [email, { ...before, ...change }]])
}

function updateList(email: string, step: (before: MessageList) => MessageList): void {
  const { list: before, isLoaded } = states.peek().get(email) ?? UNKNOWN
  const list = step(before)
  if (list === before) return
  setState(email, { list })
  const arrived = isLoaded ? arrivals(before, list) : []
  if (arrived.length > 0) for (const listener of arrivalListeners) listener(arrived, email)
}

function markChanged(email: string, { id }: MessageSummary): void {
  for (const poll of activePolls) if (poll.email === email) poll.changed.add(id)
}

/** Without those that the user has deleted. */
function undeleted({ token }: Mailbox, { rows }: MessageList): readonly MessageSummary[] {
  const gone = deletions.value
    .filter((one) => one.token === token && one.state !== 'failed')
    .map(isDeletedBy)
  return rows.filter(({ id }) => !gone.some((isGone) => isGone(id)))
}

const messagesOf = (mailbox: Mailbox) => undeleted(mailbox, stateOf(mailbox.email).list)

/** Of all addresses, newest first. */
export const allMessages = computed(() =>
  mailboxes.value
    .flatMap((mailbox) => messagesOf(mailbox).map((message) => ({ mailbox, message })))
    .sort(({ message: a }, { message: b }) => b.received_at_iso.localeCompare(a.received_at_iso)),
)

/** Of the addresses that the server has listed. */
export const loadedMessages = computed(() =>
  mailboxes.value
    .filter(({ email }) => stateOf(email).isLoaded)
    .map((mailbox) => [mailbox.email, messagesOf(mailbox)] as const),
)

/** Unread messages by address. */
export const unreadByAddress = computed(
  () =>
    new Map(
      mailboxes.value.map((mailbox) => {
        const unread = messagesOf(mailbox).filter(({ id }) => !isRead(mailbox, id))
        return [mailbox.email, unread.length]
      }),
    ),
)

export const unreadTotal = computed(() =>
  [...unreadByAddress.value.values()].reduce((sum, count) => sum + count, 0),
)

const STORAGE_KEY = 'read'
const readByAddress = signal(parseIds(localStore.get(STORAGE_KEY)))

/** Ids of messages that were read in this browser, by address. */
export const readByMailbox = computed(
  () => new Map(Object.entries(readByAddress.value).map(([email, ids]) => [email, new Set(ids)])),
)

export function isRead({ email }: Mailbox, id: number): boolean {
  return readByMailbox.value.get(email)?.has(id) ?? false
}

/** Ids read in the current mailbox. */
export const readIds = computed(
  () => readByMailbox.value.get(currentMailbox.value?.email ?? '') ?? new Set<number>(),
)
export const unreadCount = computed(
  () => messages.value.filter(({ id }) => !readIds.value.has(id)).length,
)

export function markRead(...ids: number[]): void {
  const email = currentMailbox.value?.email
  if (!email || ids.every((id) => readIds.value.has(id))) return
  const addresses = mailboxes.value.map((mailbox) => mailbox.email)
  storeRead(withIds(latestRead(), { email, ids }, addresses))
}

/** Nothing of an address stays that was removed from this browser. */
mailboxes.subscribe((all) => {
  const before = Object.entries(latestRead())
  const rest = before.filter(
    ([email]) => all.some((mailbox) => mailbox.email === email) || isStored(email),
  )
  if (rest.length < before.length) storeRead(Object.fromEntries(rest))
})

/** Another tab may have written since we read. */
function latestRead(): IdsByAddress {
  return { ...readByAddress.peek(), ...parseIds(localStore.get(STORAGE_KEY)) }
}

function storeRead(ids: IdsByAddress): void {
  readByAddress.value = ids
  localStore.set(STORAGE_KEY, JSON.stringify(ids))
}

addEventListener('storage', ({ key, newValue }) => {
  if (key === `mayfly ${STORAGE_KEY}`) readByAddress.value = parseIds(newValue ?? undefined)
})
