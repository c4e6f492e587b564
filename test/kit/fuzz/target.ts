import type { Material } from './mutate.ts'

/** A part of the product that reads what strangers send. A module in `targets` exports one as `target`. */
export interface FuzzTarget extends Material {
  /**
   * Throws, or rejects, if the product misbehaves; what it refuses as documented is no fault. Returns whether the input got past the
   * first parser, so that the code behind it was reached.
   */
  run(input: Buffer): boolean | Promise<boolean>
  /** Checks against another implementation, whose time does not count. */
  compare?(input: Buffer): unknown
  /** For servers. Returns how to close. */
  open?(): Promise<() => Promise<unknown>>
  /** By default, 5 seconds. */
  hangMs?: number
}

/** Why the input is a finding, besides errors that the product throws. */
export class Fault extends Error {
  override name = 'Fault'
}

export function check(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Fault(message)
}

/** Of work that is done in steps. */
export function resultOf<Result>(steps: Generator<void, Result>): Result {
  let step = steps.next()
  while (!step.done) step = steps.next()
  return step.value
}

/** What was parsed may name `__proto__`. */
export function checkPrototype(): void {
  const added = Object.keys(Object.prototype)
  for (const name of added) Reflect.deleteProperty(Object.prototype, name)
  check(added.length === 0, `a changed prototype: ${added}`)
}
