import type { MailboxId } from '../core/session.ts'
import type { Redis } from '../redis/connect.ts'

/** Mailboxes that share a channel. */
interface Bucket {
  waiting: Map<MailboxId, Set<() => void>>
  /** True while nothing is missed. */
  heard: boolean
  restedTurns: number
  unlisten(): void
}

const BUCKETS = 1_024
/** In the place of mailboxes: all of the bucket. */
export const EVERYBODY = '*'
// A reader that polls comes back soon: its channel is kept for so many seconds.
const KEPT_TURNS = 3

/** Who waits in this thread, by bucket. */
export function openBuckets(redis: Redis, node: string) {
  const buckets = new Map<number, Bucket>()

  function open(number: number): Bucket {
    const waiting: Bucket['waiting'] = new Map()
    const bucket: Bucket = { waiting, heard: false, restedTurns: 0, unlisten: () => {} }
    buckets.set(number, bucket)
    bucket.unlisten = redis.listen(channelOf(number), {
      heard(message) {
        const [from, ...mailboxes] = message.split(' ')
        if (from === node) return
        if (mailboxes[0] === EVERYBODY) callAll(bucket)
        else for (const mailbox of mailboxes) call(waiting.get(Number(mailbox) as MailboxId))
      },
      ready() {
        bucket.heard = true
        // What was told before this could not be heard.
        callAll(bucket)
      },
      lost() {
        bucket.heard = false
      },
    })
    return bucket
  }

  return {
    subscribe(mailbox: MailboxId, changed: () => void): () => void {
      const { waiting } = buckets.get(bucketOf(mailbox)) ?? open(bucketOf(mailbox))
      const there = waiting.get(mailbox) ?? new Set()
      waiting.set(mailbox, there.add(changed))
      return () => {
        there.delete(changed)
        if (there.size === 0 && waiting.get(mailbox) === there) waiting.delete(mailbox)
      }
    },
    /** Calls who waits unheard, and lets go of what nobody has waited for lately. */
    tend(isTurn: (number: number) => boolean): void {
      for (const [number, bucket] of buckets) {
        if (!isTurn(number)) continue
        bucket.restedTurns = bucket.waiting.size > 0 ? 0 : bucket.restedTurns + 1
        if (!bucket.heard) callAll(bucket)
        if (bucket.restedTurns <= KEPT_TURNS) continue
        buckets.delete(number)
        bucket.unlisten()
      }
    },
    close(): void {
      for (const bucket of buckets.values()) bucket.unlisten()
      buckets.clear()
    },
  }
}

function callAll({ waiting }: Bucket): void {
  for (const changed of [...waiting.values()]) call(changed)
}

function call(waiting: Set<() => void> | undefined): void {
  for (const changed of [...(waiting ?? [])]) changed()
}

export function bucketOf(mailbox: MailboxId): number {
  return mailbox % BUCKETS
}

/** What stands in braces decides at which server of a Cluster a channel is. */
export function channelOf(bucket: number): string {
  return `mayfly:news:{${bucket}}`
}
