import { batch, computed, signal } from '@preact/signals'
import { current } from '../address/mailboxes.ts'
import type { Summary } from '../site/shapes.ts'
import type { Deletion } from './deletion.ts'
import {
  arrived,
  type Listing,
  NOTHING,
  withList,
  withMessage,
  without,
  withUpdate,
} from './listing.ts'
import { matches } from './search.ts'

/** How the page hears of new mail at the moment. `until` is when it tries again, by Date.now(). */
export type Hearing =
  | { kind: 'starting' }
  | { kind: 'live' }
  | { kind: 'waiting' }
  | { kind: 'looking'; seconds: number }
  | { kind: 'offline' | 'away' | 'limited'; until: number }
  | { kind: 'ended' }

export const hearing = signal<Hearing>({ kind: 'starting' })

const listing = signal<Listing>(NOTHING)
/** True once the server has told what is in the mailbox. */
export const known = signal(false)
/** The mailbox takes no more mail. */
export const full = signal(false)
/** The mailbox holds older ones that are not listed. */
export const cut = computed(() => listing.value.cut)
/** What the reader has deleted and the server has not yet, of whichever mailbox. */
export const leaving = signal<ReadonlySet<Deletion>>(new Set())
const leavingHere = computed(() => {
  const token = current.value?.token
  return new Set([...leaving.value].filter((one) => one.token === token).map(({ id }) => id))
})
export const query = signal('')

/** All of the mailbox, the newest first. */
export const messages = computed(() =>
  listing.value.rows.filter(({ id }) => !leavingHere.value.has(id)),
)
/** Those that the search leaves over. */
export const shown = computed(() => {
  const words = query.value
  return words.trim() === '' ? messages.value : messages.value.filter((one) => matches(one, words))
})

/** Called with what has just come; not with what was there when the page was opened. */
export const onArrival = new Set<(messages: Summary[]) => void>()
const lookingSince = new Set<Set<number>>()

/** What is told about the mailbox, by whatever way. */
export const mail = {
  newest: () => listing.value.newest,
  /** False only if the server's list says that there is no such message. */
  mayHave(id: number): boolean {
    const { rows, cut } = listing.value
    return rows.some((row) => row.id === id) || (cut && id < (rows.at(-1)?.id ?? 0))
  },
  /** Another mailbox is on the page. */
  clear(): void {
    batch(() => {
      listing.value = NOTHING
      known.value = false
      full.value = false
      query.value = ''
      hearing.value = { kind: 'starting' }
    })
  },
  came(message: Summary): void {
    change((before) => withMessage(before, message))
  },
  updated(message: Summary): void {
    change((before) => withUpdate(before, message))
  },
  gone(ids: ReadonlySet<number>): void {
    change((before) => without(before, ids))
  },
  /** To be called before the server is asked for its list; `listed` wants it back with the answer. */
  asks(): Set<number> {
    const since = new Set<number>()
    lookingSince.add(since)
    return since
  },
  listed(list: readonly Summary[], since: Set<number>): void {
    change((before) => withList(before, list, since))
    known.value = true
  },
  /** The question is over, answered or not. */
  asked(since: Set<number>): void {
    lookingSince.delete(since)
  },
}

function change(step: (before: Listing) => Listing): void {
  const before = listing.value
  const after = step(before)
  if (after === before) return
  listing.value = after
  const there = new Set(before.rows.map(({ id }) => id))
  for (const { id } of after.rows) {
    if (!there.has(id)) for (const since of lookingSince) since.add(id)
  }
  const news = known.value ? arrived(before, after) : []
  if (news.length > 0) for (const tell of onArrival) tell(news)
}
