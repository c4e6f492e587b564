/**
 * What the clients of a cluster did and saw, for check-history.ts. Times are milliseconds of one clock, that of the
 * recorder: `start` before the request was sent, `end` after the response was read or given up.
 */
export interface Operation {
  client: string
  /** The server that was asked, or that made the request. */
  node: string
  start: number
  end: number
  /** `unknown`: no response, or one that leaves it open. It may have happened, and may still happen. */
  result: 'done' | 'refused' | 'unknown'
}

/** Sessions, keys and mails have names of the recorder's own: no token, key or mail stands in a history. */
export type Entry = Operation &
  (
    | { kind: 'create'; address: string; session: string; key?: string }
    | { kind: 'send'; mail: string; session: string; sha256: string }
    // All messages of a mailbox. `holder` is the session or key whose credentials were used, or anybody else.
    | { kind: 'list'; session: string; holder: string; mails: readonly ListedMail[] }
    | { kind: 'read'; session: string; holder: string; mail: string; sha256?: string }
    | { kind: 'delete'; session: string; holder: string; mail: string }
    | { kind: 'issue'; key: string; requests: number }
    | { kind: 'request'; key: string; mails: readonly string[] }
    | { kind: 'subscribe'; webhook: string; key: string }
    // As the receiver saw it: `done` if it answered 2xx. `id` is the message's.
    | { kind: 'delivery'; webhook: string; id: number; mail: string }
    // The holder was seen with the lease. A holder has a lease once.
    | { kind: 'lease'; name: string; holder: string }
    // The server was stopped or its clock was moved: it may overlook the end of its leases until shortly afterwards.
    | { kind: 'suspend' }
  )

export interface ListedMail {
  id: number
  mail: string
}

export type EntryOf<Kind extends Entry['kind']> = Extract<Entry, { kind: Kind }>

export type History = ReturnType<typeof openHistory>

export function openHistory(now = () => performance.now()) {
  const entries: Entry[] = []
  return {
    entries,
    now,
    record(entry: Entry): void {
      entries.push(entry)
    },
  }
}
