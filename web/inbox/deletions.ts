import { batch, computed, effect, signal } from '@preact/signals'
import { currentMailbox, mailboxes } from '../address/mailboxes.ts'
import { ApiError, requestJson } from '../site/api-client.ts'
import { localStore } from '../site/storage.ts'
import { deleting, isLoaded, isMailboxFull, isTruncated, messageStore } from './messages.ts'
import { parseIds } from './stored-ids.ts'
import { backoffSeconds, createRateLimiter, DELETE_RATE, delay } from './sync/retry.ts'
import { pollNow } from './sync/transport.ts'

const UNDO_MS = 8_000
const CONCURRENCY = 4
// A page that goes away may send so many; the next visit sends the rest.
const MAX_ON_UNLOAD = 100

/** What the reader deleted last: it goes to the server when there is no more way back. */
const undoable = signal<readonly Deletion[]>([])
export const undoableCount = computed(() => undoable.value.length)
/** How far the sending is; undefined when there is nothing to send. */
export const deleteProgress = signal<{ done: number; total: number } | undefined>(undefined)
/** Those that the server would not delete. */
export const failedDeletions = signal<readonly Deletion[]>([])

let queue: Deletion[] = []
/** Sent, and not answered yet: one for each lane that is busy. */
const inFlight = new Set<Deletion>()
let timer: ReturnType<typeof setTimeout> | undefined

/** Takes them off the page now and deletes them in a while, unless that is undone. */
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

/** The time to undo does not run while somebody is at the button. */
export function pauseUndo(): void {
  clearTimeout(timer)
}

export function resumeUndo(): void {
  clearTimeout(timer)
  if (undoable.value.length > 0) timer = setTimeout(commitUndoable, UNDO_MS)
}

/** No way back any more. */
function commitUndoable(): void {
  clearTimeout(timer)
  enqueue(undoable.value)
  undoable.value = []
}

export function retryFailed(): void {
  const again = failedDeletions.value
  batch(() => {
    failedDeletions.value = []
    hide(again)
    enqueue(again)
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
    const isGone = await deleteWithRetry(next)
    inFlight.delete(next)
    finish(next, isGone)
  }
  if (inFlight.size > 0) return
  deleteProgress.value = undefined
  // There may be room again, and older ones to show.
  if (isTruncated.value || isMailboxFull.value) await pollNow().catch(() => undefined)
}

function finish(deletion: Deletion, isGone: boolean): void {
  pendingDeletions.remove([deletion])
  batch(() => {
    if (isGone) removeFromList([deletion])
    else failedDeletions.value = [...failedDeletions.value, deletion]
    unhide([deletion])
    const { done, total } = deleteProgress.value ?? { done: 0, total: 1 }
    deleteProgress.value = { done: done + 1, total }
  })
}

/** A list that is not on the page is asked for again when it comes back. */
function removeFromList(deletions: readonly Deletion[]): void {
  const here = deletions.filter(({ token }) => token === currentMailbox.value?.token)
  messageStore.remove(new Set(here.map(({ id }) => id)))
}

/** Deletions are carried out even if the page is reloaded, left or crashes before all were sent. */
export function startDeletions(): void {
  resumePending()
  addEventListener('pagehide', () => {
    const rest = [...inFlight, ...queue, ...undoable.value]
    // Nobody hears the answers: the next visit makes sure of these, too.
    pendingDeletions.add(rest)
    for (const one of rest.slice(0, MAX_ON_UNLOAD)) deleteOnUnload(one)
    clearTimeout(timer)
    queue = []
    undoable.value = []
  })
  // The page came back as it was left.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) resumePending()
  })
}

/** Hides what is still to be deleted, and sends it. */
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

/** Most of them may be gone by now: only those that the server still lists are sent. */
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

/** One message that is to be deleted for good. */
export interface Deletion {
  token: string
  id: number
}

const MAX_TRIES = 6
const rateDelayMs = createRateLimiter(DELETE_RATE)
const NEVER = new AbortController().signal

/** Deletes it on the server, sooner or later. False when that could not be done; what is gone already is done. */
export async function deleteWithRetry(deletion: Deletion): Promise<boolean> {
  await delay(rateDelayMs(Date.now()) / 1000, NEVER)
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    try {
      await requestDeletion(deletion)
      return true
    } catch (fault) {
      const refusal = fault instanceof ApiError ? fault : undefined
      // The message, or all of the mailbox.
      if (refusal?.status === 404 || refusal?.status === 401) return true
      const seconds = backoffSeconds(tries, Math.random(), refusal?.retrySeconds)
      await delay(seconds, NEVER, { firm: refusal?.status === 429 })
    }
  }
  return false
}

/** Sends it while the page goes away: nobody is there to hear the answer. */
export function deleteOnUnload(deletion: Deletion): void {
  requestDeletion(deletion, true).catch(() => undefined)
}

async function requestDeletion({ token, id }: Deletion, keepalive = false): Promise<void> {
  await requestJson('/api/delete-mail', { method: 'POST', token, values: { id }, keepalive })
}

const STORAGE_KEY = 'deleting'

/**
 * Deletions that the server has not confirmed yet. They survive a reload and a crash; ids by address, nothing of a mail.
 * Tabs share them: two that send the same deletion do no harm, because the second is answered 404.
 */
export const pendingDeletions = {
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

/** Addresses that this browser no longer has are dropped: their mail is gone, or out of reach. */
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
