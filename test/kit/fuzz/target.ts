import type { Material } from './mutate.ts'

/** A part of the product that reads what strangers send. A module in `targets` exports one as `target`. */
export interface FuzzTarget extends Material {
  /** Throws, or rejects, if the product misbehaves; what it refuses as documented is no fault. */
  run(input: Buffer): unknown
  /** Checks against another implementation, whose time does not count. */
  compare?(input: Buffer): unknown
  /** For servers. Returns how to close. */
  open?(): Promise<() => Promise<unknown>>
  hangMs: number
  /** The most that one input may cost, in medians of its size. Undefined where the time is that of a network. */
  maxCost?: number
}

/** Why the input is a finding, besides errors that the product throws. */
export class Fault extends Error {
  override name = 'Fault'
}

export function check(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Fault(message)
}
