import { batch, computed, effect } from '@preact/signals'
import { currentMailbox, mailboxes } from '../address/mailboxes.ts'
import { ApiError, requestJson } from '../site/api-client.ts'
import { localStore } from '../site/storage.ts'
import { type Deletion, parseDeletions } from './message-list.ts'
import {
  deletions,
  isMailboxFull,
  isTruncated,
  messageStore,
  messages,
  type PageDeletion,
} from './messages.ts'
import type { Row } from './rows.ts'
import { pollOthers } from './sync/poll.ts'
import { delay, retryDelaySeconds } from './sync/retry.ts'
import { pollNow } from './sync/stream.ts'

const UNDO_MS = 8_000

/** Sent to the server when the time to undo is over. */
export const undoable = computed(() => deletions.value.filter((one) => one.state === 'undoable'))
export const failed = computed(() => deletions.value.filter((one) => one.state === 'failed'))

let timer: ReturnType<typeof setTimeout> | undefined

/** Hides messages at once and deletes them when the time to undo is over. */
export function deleteMessages(rows: readonly Pick<Row, 'mailbox' | 'message'>[]): void {
  const byMailbox = Map.groupBy(rows, ({ mailbox }) => mailbox.token)
  deleteUndoably(
    [...byMailbox].map(([token, some]) => ({ token, ids: some.map(({ message }) => message.id) })),
  )
}

/** Every message of the mailbox, except those that arrive from now on. */
export function deleteAllMessages(): void {
  const token = currentMailbox.value?.token
  const ids = messages.value.map(({ id }) => id)
  if (token && ids.length > 0) deleteUndoably([{ token, ids, upToId: Math.max(...ids) }])
}

function deleteUndoably(some: readonly Deletion[]): void {
  const added = some.map((one): PageDeletion => ({ ...one, state: 'undoable' }))
  deletions.value = [...without(failed.value), ...added]
  resumeUndo()
}

function without(some: readonly Deletion[]): PageDeletion[] {
  return deletions.value.filter((one) => !some.includes(one))
}

export function undo(): void {
  clearTimeout(timer)
  deletions.value = without(undoable.value)
}

/** While the pointer or the focus is on the button. */
export function pauseUndo(): void {
  clearTimeout(timer)
}

export function resumeUndo(): void {
  clearTimeout(timer)
  if (undoable.value.length > 0) timer = setTimeout(() => storeAndSend(undoable.value), UNDO_MS)
}

/** Also those that failed. */
export function storeAndSend(some: readonly Deletion[]): void {
  pendingDeletions.add(some)
  sendAll(some)
}

// The limit of the API.
const MAX_IDS = 500

/** One request for all messages of a mailbox. */
function sendAll(some: readonly Deletion[]): void {
  const parts = [...Map.groupBy(some, ({ token }) => token)].flatMap(([token, ofMailbox]) => {
    const ids = ofMailbox.flatMap((one) => (one.upToId === undefined ? one.ids : []))
    return [
      ...ofMailbox.filter(({ upToId }) => upToId !== undefined),
      ...Array.from({ length: Math.ceil(ids.length / MAX_IDS) }, (_, part) => ({
        token,
        ids: ids.slice(part * MAX_IDS, (part + 1) * MAX_IDS),
      })),
    ]
  })
  const sent = parts.map((part): PageDeletion => ({ ...part, state: 'sending' }))
  deletions.value = [...without(some), ...sent]
  for (const one of sent) void send(one)
}

async function send(deletion: PageDeletion): Promise<void> {
  const isDeleted = await deleteWithRetry(deletion)
  pendingDeletions.remove(deletion)
  const isHere = deletion.token === currentMailbox.value?.token
  const mailbox = mailboxes.value.find(({ token }) => token === deletion.token)
  batch(() => {
    if (isDeleted && mailbox) messageStore.remove(mailbox.email, deletion)
    const rest = without([deletion])
    deletions.value = isDeleted ? rest : [...rest, { ...deletion, state: 'failed' }]
  })
  // There may be room again, or older messages to list.
  if (isHere && (isTruncated.value || isMailboxFull.value)) await pollNow().catch(() => undefined)
  if (!isHere && mailbox && messageStore.isTruncated(mailbox.email))
    await pollOthers([mailbox.email])
}

/** Deletions are carried out even if the page is reloaded, closed or crashes before all were sent. */
export function startDeletions(): void {
  // Tokens of mailboxes that are removed from this browser do not stay here.
  effect(() => pendingDeletions.set(pendingDeletions.list()))
  const resume = () => {
    deletions.value = failed.value
    sendAll(pendingDeletions.list())
  }
  resume()
  addEventListener('pagehide', () => {
    clearTimeout(timer)
    // We do not see the responses, so the next visit sends these again.
    pendingDeletions.add(undoable.value)
    const rest = without(failed.value)
    for (const one of rest) requestDeletion(one, true).catch(() => undefined)
    deletions.value = [
      ...failed.value,
      ...rest.map((one) => ({ ...one, state: 'sending' as const })),
    ]
  })
  // Restored from the back/forward cache.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) resume()
  })
}

const MAX_TRIES = 6
const NEVER = new AbortController().signal

/** False if it failed; messages that no longer exist count as deleted. */
async function deleteWithRetry(deletion: Deletion): Promise<boolean> {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    try {
      await requestDeletion(deletion)
      return true
    } catch (error) {
      const apiError = error instanceof ApiError ? error : undefined
      // The whole mailbox is gone.
      if (apiError?.status === 401) return true
      const seconds = retryDelaySeconds(tries, Math.random(), apiError?.retrySeconds)
      await delay(seconds, NEVER, { isFixed: apiError?.status === 429 })
    }
  }
  return false
}

async function requestDeletion(deletion: Deletion, keepalive = false): Promise<void> {
  const { token, ids, upToId } = deletion
  const values = upToId === undefined ? { ids: ids.join() } : { all: 1, up_to_id: upToId }
  await requestJson('/api/delete-mail', { method: 'POST', token, values, keepalive })
}

const STORAGE_KEY = 'deleting'
/** Version 0.3. */
const OLD_STORAGE_KEY = 'deleting all'

/**
 * Deletions that the server has not confirmed yet. They survive a reload and a crash. Tabs share them: sending one twice
 * does no harm.
 */
const pendingDeletions = {
  list: () =>
    parseDeletions(localStore.get(STORAGE_KEY), localStore.get(OLD_STORAGE_KEY), mailboxes.value),
  set(all: readonly Deletion[]): void {
    const text = JSON.stringify(all, ['token', 'ids', 'upToId'])
    localStore.set(STORAGE_KEY, all.length > 0 ? text : undefined)
    localStore.set(OLD_STORAGE_KEY, undefined)
  },
  add(some: readonly Deletion[]): void {
    pendingDeletions.set([...pendingDeletions.list(), ...some])
  },
  remove({ token, ids, upToId }: Deletion): void {
    const rest = pendingDeletions.list().flatMap((one): Deletion[] => {
      if (one.token !== token || one.upToId !== upToId) return [one]
      const left = upToId === undefined ? one.ids.filter((id) => !ids.includes(id)) : []
      return left.length > 0 ? [{ token, ids: left }] : []
    })
    pendingDeletions.set(rest)
  },
}
