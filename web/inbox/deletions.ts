import { batch, computed, effect, signal } from '@preact/signals'
import { current } from '../address/mailboxes.ts'
import { type Deletion, deleteSoon, deleteWhileLeaving } from './deletion.ts'
import { lookNow } from './hear.ts'
import { cut, full, known, leaving, mail } from './mail.ts'
import { pendingDeletions } from './pending-deletions.ts'

const UNDO_MS = 8_000
const LANES = 4
// A page that goes away may send so many; the next visit sends the rest.
const MOST_WHILE_LEAVING = 100

/** What the reader deleted last: it goes to the server when there is no more way back. */
const undoable = signal<readonly Deletion[]>([])
export const undoableCount = computed(() => undoable.value.length)
/** How far the sending is; undefined when there is nothing to send. */
export const sending = signal<{ done: number; total: number } | undefined>(undefined)
/** Those that the server would not delete. */
export const undeleted = signal<readonly Deletion[]>([])

let queue: Deletion[] = []
/** Sent, and not answered yet: one for each lane that is busy. */
const inFlight = new Set<Deletion>()
let timer: ReturnType<typeof setTimeout> | undefined

/** Takes them off the page now and deletes them in a while, unless that is undone. */
export function remove(ids: readonly number[]): void {
  const token = current.value?.token
  if (!token || ids.length === 0) return
  const deletions = ids.map((id) => ({ token, id }))
  batch(() => {
    leave(deletions)
    undoable.value = [...undoable.value, ...deletions]
    undeleted.value = []
  })
  resumeUndo()
}

export function undo(): void {
  clearTimeout(timer)
  stay(undoable.value)
  undoable.value = []
}

/** The time to undo does not run while somebody is at the button. */
export function holdUndo(): void {
  clearTimeout(timer)
}

export function resumeUndo(): void {
  clearTimeout(timer)
  if (undoable.value.length > 0) timer = setTimeout(settle, UNDO_MS)
}

/** No way back any more. */
function settle(): void {
  clearTimeout(timer)
  enqueue(undoable.value)
  undoable.value = []
}

export function retryUndeleted(): void {
  const again = undeleted.value
  batch(() => {
    undeleted.value = []
    leave(again)
    enqueue(again)
  })
}

function leave(deletions: readonly Deletion[]): void {
  leaving.value = leaving.value.union(new Set(deletions))
}

function stay(deletions: readonly Deletion[]): void {
  leaving.value = leaving.value.difference(new Set(deletions))
}

function enqueue(deletions: readonly Deletion[]): void {
  if (deletions.length === 0) return
  pendingDeletions.add(deletions)
  queue.push(...deletions)
  const { done, total } = sending.value ?? { done: 0, total: 0 }
  sending.value = { done, total: total + deletions.length }
  while (inFlight.size < LANES && queue.length > 0) void run()
}

async function run(): Promise<void> {
  for (let next = queue.shift(); next; next = queue.shift()) {
    inFlight.add(next)
    const isGone = await deleteSoon(next)
    inFlight.delete(next)
    sent(next, isGone)
  }
  if (inFlight.size > 0) return
  sending.value = undefined
  // There may be room again, and older ones to show.
  if (cut.value || full.value) await lookNow().catch(() => undefined)
}

function sent(deletion: Deletion, isGone: boolean): void {
  pendingDeletions.remove([deletion])
  batch(() => {
    if (isGone) gone([deletion])
    else undeleted.value = [...undeleted.value, deletion]
    stay([deletion])
    const { done, total } = sending.value ?? { done: 0, total: 1 }
    sending.value = { done: done + 1, total }
  })
}

/** A list that is not on the page is asked for again when it comes back. */
function gone(deletions: readonly Deletion[]): void {
  const here = deletions.filter(({ token }) => token === current.value?.token)
  mail.gone(new Set(here.map(({ id }) => id)))
}

/** Deletions are carried out even if the page is reloaded, left or crashes before all were sent. */
export function keepDecisions(): void {
  resume()
  addEventListener('pagehide', () => {
    const rest = [...inFlight, ...queue, ...undoable.value]
    // Nobody hears the answers: the next visit makes sure of these, too.
    pendingDeletions.add(rest)
    for (const one of rest.slice(0, MOST_WHILE_LEAVING)) deleteWhileLeaving(one)
    clearTimeout(timer)
    queue = []
    undoable.value = []
  })
  // The page came back as it was left.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) resume()
  })
}

/** Hides what is still to be deleted, and sends it. */
function resume(): void {
  const { token } = current.value ?? {}
  const pending = pendingDeletions.list().filter((one) => !isInFlight(one))
  leaving.value = new Set([...inFlight, ...pending])
  sending.value = undefined
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
  const isHere = () => current.value?.token === token
  const stop = effect(() => {
    if (known.value || !isHere()) listed.resolve()
  })
  await listed.promise
  stop()
  const left = here.filter(({ id }) => !isHere() || mail.mayHave(id))
  const done = here.filter((one) => !left.includes(one))
  pendingDeletions.remove(done)
  stay(done)
  enqueue(left)
}

function isInFlight({ token, id }: Deletion): boolean {
  return [...inFlight].some((one) => one.token === token && one.id === id)
}
