import { batch, computed, signal } from '@preact/signals'
import { current, mailboxes } from '../address/mailboxes.ts'
import { kept } from '../site/kept.ts'
import { type Deletion, deleteSoon, deleteWhileLeaving } from './deletion.ts'
import { lookNow } from './hear.ts'
import { cut, full, leaving, mail } from './mail.ts'
import { type Marks, parseMarks } from './marks.ts'

const UNDO_MS = 8_000
const LANES = 4
// A page that goes away may send so many; the next visit sends the rest.
const MOST_WHILE_LEAVING = 100
const SHELF = 'deleting'

/** What the reader deleted last: it goes to the server when there is no more way back. */
const undoable = signal<readonly Deletion[]>([])
export const undoableCount = computed(() => undoable.value.length)
/** How far the sending is; undefined when there is nothing to send. */
export const sending = signal<{ done: number; total: number } | undefined>(undefined)
/** Those that the server would not delete. */
export const undeleted = signal<readonly Deletion[]>([])

let queue: Deletion[] = []
let lanes = 0
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
  queue.push(...deletions)
  const { done, total } = sending.value ?? { done: 0, total: 0 }
  sending.value = { done, total: total + deletions.length }
  while (lanes < Math.min(LANES, queue.length)) void run()
}

async function run(): Promise<void> {
  lanes += 1
  for (let next = queue.shift(); next; next = queue.shift()) {
    sent(next, await deleteSoon(next))
  }
  lanes -= 1
  if (lanes > 0) return
  sending.value = undefined
  // There may be room again, and older ones to show.
  if (cut.value || full.value) await lookNow().catch(() => undefined)
}

function sent(deletion: Deletion, isGone: boolean): void {
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

/** What was decided stays decided when the page is left, or was left before all was sent. */
export function keepDecisions(): void {
  const left = parseMarks(kept.find(SHELF))
  kept.keep(SHELF, undefined)
  for (const { email, token } of mailboxes.value) {
    const deletions = (left[email] ?? []).map((id) => ({ token, id }))
    leave(deletions)
    enqueue(deletions)
  }
  addEventListener('pagehide', () => {
    const rest = [...queue, ...undoable.value]
    queue = []
    undoable.value = []
    for (const one of rest.slice(0, MOST_WHILE_LEAVING)) deleteWhileLeaving(one)
    // The page may come back as it was left.
    gone(rest)
    const late = rest.slice(MOST_WHILE_LEAVING)
    if (late.length > 0) kept.keep(SHELF, JSON.stringify(byAddress(late)))
  })
}

function byAddress(deletions: readonly Deletion[]): Marks {
  return Object.fromEntries(
    mailboxes.value.map(({ email, token }) => [
      email,
      deletions.filter((one) => one.token === token).map(({ id }) => id),
    ]),
  )
}
