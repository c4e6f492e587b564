import { batch, computed, effect, signal } from '@preact/signals'
import { currentMailbox, mailboxes } from '../address/mailboxes.ts'
import { ApiError, requestJson } from '../site/api-client.ts'
import { localStore } from '../site/storage.ts'
import { parseIds } from './message-list.ts'
import { deleting, isLoaded, isMailboxFull, isTruncated, messageStore } from './messages.ts'
import { createRateLimiter, delay, retryDelaySeconds } from './sync/retry.ts'
import { pollNow } from './sync/transport.ts'

export interface Deletion {
  token: string
  id: number
}

const UNDO_MS = 8_000
const CONCURRENCY = 4
// Sent while the page is unloaded; the next visit sends the rest.
const MAX_ON_UNLOAD = 100

/** Sent to the server when the time to undo is over. */
const undoable = signal<readonly Deletion[]>([])
export const undoableCount = computed(() => undoable.value.length)
/** Undefined if there is nothing to send. */
export const deleteProgress = signal<{ done: number; total: number } | undefined>(undefined)
export const failedDeletions = signal<readonly Deletion[]>([])

let queue: Deletion[] = []
const inFlight = new Set<Deletion>()
let timer: ReturnType<typeof setTimeout> | undefined

/** Hides messages at once and deletes them when the time to undo is over. */
export function deleteMessages(ids: readonly number[]): void {
  const token = currentMailbox.value?.token
  if (!token || ids.length === 0) return
  const deletions = ids.map((id) => ({ token, id }))
  batch(() => {
    hide(deletions)
    undoable.value = [...undoable.value, ...deletions]
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
    enqueue(undoable.value)
    undoable.value = []
  }, UNDO_MS)
}

export function retryFailed(): void {
  const failed = failedDeletions.value
  batch(() => {
    failedDeletions.value = []
    hide(failed)
    enqueue(failed)
  })
}

function hide(deletions: readonly Deletion[]): void {
  deleting.value = deleting.value.union(new Set(deletions))
}

function unhide(deletions: readonly Deletion[]): void {
  deleting.value = deleting.value.difference(new Set(deletions))
}

function enqueue(deletions: readonly Deletion[]): void {
  if (deletions.length === 0) return
  pendingDeletions.add(deletions)
  queue.push(...deletions)
  const { done, total } = deleteProgress.value ?? { done: 0, total: 0 }
  deleteProgress.value = { done, total: total + deletions.length }
  while (inFlight.size < CONCURRENCY && queue.length > 0) void runQueue()
}

async function runQueue(): Promise<void> {
  for (let next = queue.shift(); next; next = queue.shift()) {
    inFlight.add(next)
    const isDeleted = await deleteWithRetry(next)
    inFlight.delete(next)
    finish(next, isDeleted)
  }
  if (inFlight.size > 0) return
  deleteProgress.value = undefined
  // There may be room again, or older messages to list.
  if (isTruncated.value || isMailboxFull.value) await pollNow().catch(() => undefined)
}

function finish(deletion: Deletion, isDeleted: boolean): void {
  pendingDeletions.remove([deletion])
  batch(() => {
    if (!isDeleted) failedDeletions.value = [...failedDeletions.value, deletion]
    // Another mailbox is listed anew when it is shown again.
    else if (deletion.token === currentMailbox.value?.token) {
      messageStore.remove(new Set([deletion.id]))
    }
    unhide([deletion])
    const { done, total } = deleteProgress.value ?? { done: 0, total: 1 }
    deleteProgress.value = { done: done + 1, total }
  })
}

/** Deletions are carried out even if the page is reloaded, closed or crashes before all were sent. */
export function startDeletions(): void {
  resumePending()
  addEventListener('pagehide', () => {
    const rest = [...inFlight, ...queue, ...undoable.value]
    // We do not see the responses, so the next visit checks these, too.
    pendingDeletions.add(rest)
    for (const one of rest.slice(0, MAX_ON_UNLOAD)) {
      requestDeletion(one, true).catch(() => undefined)
    }
    clearTimeout(timer)
    queue = []
    undoable.value = []
  })
  // Restored from the back/forward cache.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) resumePending()
  })
}

/** Hides and sends what is still to be deleted. */
function resumePending(): void {
  const { token } = currentMailbox.value ?? {}
  const pending = pendingDeletions.list().filter((one) => !isInFlight(one))
  deleting.value = new Set([...inFlight, ...pending])
  deleteProgress.value = undefined
  enqueue(pending.filter((one) => one.token !== token))
  void resumeListed(
    token,
    pending.filter((one) => one.token === token),
  )
}

/** Sends only those that the server still lists: most may be deleted by now. */
async function resumeListed(token: string | undefined, here: readonly Deletion[]): Promise<void> {
  if (here.length === 0) return
  const listed = Promise.withResolvers<void>()
  const isHere = () => currentMailbox.value?.token === token
  const stop = effect(() => {
    if (isLoaded.value || !isHere()) listed.resolve()
  })
  await listed.promise
  stop()
  const left = here.filter(({ id }) => !isHere() || messageStore.mayContain(id))
  const done = here.filter((one) => !left.includes(one))
  pendingDeletions.remove(done)
  unhide(done)
  enqueue(left)
}

function isInFlight({ token, id }: Deletion): boolean {
  return [...inFlight].some((one) => one.token === token && one.id === id)
}

const MAX_TRIES = 6
// Half of the server's limit per network: other requests and other tabs need the rest.
const rateDelayMs = createRateLimiter({ burst: 100, perSecond: 25 })
const NEVER = new AbortController().signal

/** False if it failed; a message that no longer exists counts as deleted. */
async function deleteWithRetry(deletion: Deletion): Promise<boolean> {
  await delay(rateDelayMs(Date.now()) / 1000, NEVER)
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    try {
      await requestDeletion(deletion)
      return true
    } catch (error) {
      const apiError = error instanceof ApiError ? error : undefined
      // 401: the whole mailbox is gone.
      if (apiError?.status === 404 || apiError?.status === 401) return true
      const seconds = retryDelaySeconds(tries, Math.random(), apiError?.retrySeconds)
      await delay(seconds, NEVER, { isFixed: apiError?.status === 429 })
    }
  }
  return false
}

async function requestDeletion({ token, id }: Deletion, keepalive = false): Promise<void> {
  await requestJson('/api/delete-mail', { method: 'POST', token, values: { id }, keepalive })
}

const STORAGE_KEY = 'deleting'

/**
 * Deletions that the server has not confirmed yet. They survive a reload and a crash. Tabs share them: sending one twice
 * does no harm, because the second gets 404.
 */
const pendingDeletions = {
  list(): Deletion[] {
    const ids = parseIds(localStore.get(STORAGE_KEY))
    return mailboxes.value.flatMap(({ email, token }) =>
      (ids[email] ?? []).map((id) => ({ token, id })),
    )
  },
  add(deletions: readonly Deletion[]): void {
    updatePending(deletions, (ids, more) => ids.union(more))
  },
  remove(deletions: readonly Deletion[]): void {
    updatePending(deletions, (ids, less) => ids.difference(less))
  },
}

type Ids = ReadonlySet<number>

/** Drops addresses that this browser no longer has: their mail is deleted or out of reach. */
function updatePending(
  deletions: readonly Deletion[],
  step: (ids: Ids, changed: Ids) => Ids,
): void {
  if (deletions.length === 0) return
  const before = parseIds(localStore.get(STORAGE_KEY))
  const after = mailboxes.value.flatMap(({ email, token }) => {
    const changed = deletions.filter((one) => one.token === token).map(({ id }) => id)
    const ids = [...step(new Set(before[email]), new Set(changed))]
    return ids.length > 0 ? [[email, ids] as const] : []
  })
  const text = JSON.stringify(Object.fromEntries(after))
  localStore.set(STORAGE_KEY, after.length > 0 ? text : undefined)
}
