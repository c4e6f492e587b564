import type { Mail } from '../core/message.ts'

/** What the parent asks of a child: to parse a mail. */
export interface Job {
  raw: Uint8Array
}

/** What a child says: once that it is ready, then one answer per job. */
export type Answer =
  | { kind: 'ready' }
  | { kind: 'mail'; mail: Mail }
  /** By a fault of ours; `place` says which and where. */
  | { kind: 'failed'; place: string }
