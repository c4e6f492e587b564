import type { Row } from '../core/row-sum.ts'

// How all that is kept goes from one engine to another, table by table. Rows travel under SQLite's names; where the other
// engine keeps them in another way, it shapes them.

/** The last key of a batch, to go on from. */
export type Key = readonly (string | number)[]

export interface MoveTable {
  /** With its schema, as in `mail.session`. */
  name: string
  rows: number
  /** Of mail, as it is kept. */
  bytes: number
}

export interface MoveBatch {
  rows: readonly Row[]
  bytes: number
  last: Key
}

/** All that one installation keeps, at rest. */
export interface MoveSource {
  /** Another one as soon as mail came or went, or a request was spent. */
  print: string
  /** In the order in which they go: what others refer to comes first. */
  tables: readonly MoveTable[]
  /** The numbers that come next where they are counted. */
  nextIds: { domain: number; account: number; serial: number }
  /** In the order of keys, few and small enough for the memory. To check, a message comes with the hash of its mail. */
  batches(table: string, options?: { after?: Key; toCheck?: boolean }): Iterable<MoveBatch>
  close(): void
}

/** How far a move has come: all tables before this one, and so much of it. */
export interface MovePlace {
  table: string
  after: Key
  rows: number
  bytes: number
}

export interface MoveTarget {
  /** Starts the move, or goes on with the same one: then it says where. Refuses a target that holds anything else. */
  begin(source: MoveSource): Promise<{ place: MovePlace | undefined; finished: boolean }>
  /** Keeps a batch and how far that is, in one commit. */
  put(table: string, batch: MoveBatch, place: MovePlace): Promise<void>
  /** What is drawn from now on is above all that was moved. */
  setNextIds(nextIds: MoveSource['nextIds']): Promise<void>
  /** From here on a service may run on it. */
  finish(now: Date): Promise<void>
  /** Rows of the source as they are to be found in the target. */
  shaped(table: string, rows: readonly Row[]): Row[]
  /** Rows as they are found, bytes as their hashes. */
  pages(table: string): AsyncIterable<Row[]>
  close(): Promise<void>
}

/** Why nothing is moved, for the person who asked for it. */
export class MoveRefused extends Error {}
