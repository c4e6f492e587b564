import { batch, computed, signal } from '@preact/signals'
import { currentMailbox, mailboxes } from '../address/mailboxes.ts'
import { ApiError, requestJson } from '../site/api-client.ts'
import { localStore } from '../site/storage.ts'
import { type Deletion, parseIds } from './message-list.ts'
import { deleting, isMailboxFull, isTruncated, messageStore, messages } from './messages.ts'
import { delay, retryDelaySeconds } from './sync/retry.ts'
import { pollNow } from './sync/transport.ts'

const UNDO_MS = 8_000

/** Sent to the server when the time to undo is over. */
const undoable = signal<readonly Deletion[]>([])
export const undoableCount = computed(() => undoable.value.flatMap(({ ids }) => ids).length)
export const isAllUndoable = computed(() =>
  undoable.value.some(({ upToId }) => upToId !== undefined),
)
export const failedDeletions = signal<readonly Deletion[]>([])

const inFlight = new Set<Deletion>()
let timer: ReturnType<typeof setTimeout> | undefined

/** Hides messages at once and deletes them when the time to undo is over. */
export function deleteMessages(ids: readonly number[]): void {
  const token = currentMailbox.value?.token
  if (token && ids.length > 0) start({ token, ids })
}

/** Every message of the mailbox, except those that arrive from now on. */
export function deleteAllMessages(): void {
  const token = currentMailbox.value?.token
  const ids = messages.value.map(({ id }) => id)
  if (token && ids.length > 0) start({ token, ids, upToId: Math.max(...ids) })
}

function start(deletion: Deletion): void {
  batch(() => {
    hide([deletion])
    undoable.value = [...undoable.value, deletion]
    failedDeletions.value = []
  })
  resumeUndo()
}

export function undo(): void {
  clearTimeout(timer)
  unhide(undoable.value)
  undoable.value = []
}

/** While the pointer or the focus is on the button. */
export function pauseUndo(): void {
  clearTimeout(timer)
}

export function resumeUndo(): void {
  clearTimeout(timer)
  if (undoable.value.length === 0) return
  timer = setTimeout(() => {
    sendAll(undoable.value)
    undoable.value = []
  }, UNDO_MS)
}

export function retryFailed(): void {
  const failed = failedDeletions.value
  batch(() => {
    failedDeletions.value = []
    hide(failed)
  })
  sendAll(failed)
}

function hide(deletions: readonly Deletion[]): void {
  deleting.value = deleting.value.union(new Set(deletions))
}

function unhide(deletions: readonly Deletion[]): void {
  deleting.value = deleting.value.difference(new Set(deletions))
}

// The limit of the API.
const MAX_IDS = 500

/** One request for all messages of a mailbox. */
function sendAll(deletions: readonly Deletion[]): void {
  pendingDeletions.add(deletions)
  for (const [token, some] of Map.groupBy(deletions, (one) => one.token)) {
    for (const one of some.filter(({ upToId }) => upToId !== undefined)) void send(one)
    const single = some.filter(({ upToId }) => upToId === undefined)
    const ids = single.flatMap((one) => one.ids)
    for (let at = 0; at < ids.length; at += MAX_IDS) {
      const part = { token, ids: ids.slice(at, at + MAX_IDS) }
      hide([part])
      void send(part)
    }
    unhide(single)
  }
}

async function send(deletion: Deletion): Promise<void> {
  inFlight.add(deletion)
  const isDeleted = await deleteWithRetry(deletion)
  inFlight.delete(deletion)
  pendingDeletions.remove([deletion])
  const isHere = deletion.token === currentMailbox.value?.token
  batch(() => {
    if (!isDeleted) failedDeletions.value = [...failedDeletions.value, deletion]
    // Another mailbox is listed anew when it is shown again.
    else if (isHere) messageStore.remove(deletion)
    unhide([deletion])
  })
  // There may be room again, or older messages to list.
  if (isHere && (isTruncated.value || isMailboxFull.value)) await pollNow().catch(() => undefined)
}

/** Deletions are carried out even if the page is reloaded, closed or crashes before all were sent. */
export function startDeletions(): void {
  resumePending()
  addEventListener('pagehide', () => {
    const rest = [...inFlight, ...undoable.value]
    // We do not see the responses, so the next visit sends these again.
    pendingDeletions.add(rest)
    for (const one of rest) requestDeletion(one, true).catch(() => undefined)
    clearTimeout(timer)
    undoable.value = []
  })
  // Restored from the back/forward cache.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) resumePending()
  })
}

/** Hides and sends what is still to be deleted. */
function resumePending(): void {
  const pending = pendingDeletions.list()
  hide(pending)
  sendAll(pending)
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
const STORAGE_KEY_ALL = 'deleting all'

/**
 * Deletions that the server has not confirmed yet. They survive a reload and a crash. Tabs share them: sending one twice
 * does no harm.
 */
const pendingDeletions = {
  list(): Deletion[] {
    const ids = parseIds(localStore.get(STORAGE_KEY))
    const all = parseIds(localStore.get(STORAGE_KEY_ALL))
    return mailboxes.value.flatMap(({ email, token }) => [
      ...(ids[email]?.length ? [{ token, ids: ids[email] }] : []),
      ...(all[email] ?? []).map((upToId) => ({ token, ids: [], upToId })),
    ])
  },
  add(deletions: readonly Deletion[]): void {
    updatePending(deletions, (ids, more) => ids.union(more))
  },
  remove(deletions: readonly Deletion[]): void {
    updatePending(deletions, (ids, less) => ids.difference(less))
  },
}

type Ids = ReadonlySet<number>
type Step = (ids: Ids, changed: Ids) => Ids

function updatePending(deletions: readonly Deletion[], step: Step): void {
  if (deletions.length === 0) return
  const single = deletions.filter(({ upToId }) => upToId === undefined)
  updateStored(STORAGE_KEY, single, step)
  const all = deletions.flatMap(({ token, upToId }) =>
    upToId === undefined ? [] : [{ token, ids: [upToId] }],
  )
  updateStored(STORAGE_KEY_ALL, all, step)
}

/** Drops addresses that this browser no longer has: their mail is deleted or out of reach. */
function updateStored(name: string, deletions: readonly Deletion[], step: Step): void {
  const before = parseIds(localStore.get(name))
  const after = mailboxes.value.flatMap(({ email, token }) => {
    const changed = deletions.filter((one) => one.token === token).flatMap(({ ids }) => ids)
    const ids = [...step(new Set(before[email]), new Set(changed))]
    return ids.length > 0 ? [[email, ids] as const] : []
  })
  const text = JSON.stringify(Object.fromEntries(after))
  localStore.set(name, after.length > 0 ? text : undefined)
}
