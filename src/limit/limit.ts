import type { Awaitable } from '../base/awaitable.ts'

/** `count` per `seconds`, evenly, with bursts of up to `burst`. */
export interface Rate {
  count: number
  seconds: number
  burst: number
  /** How far `spend` may overdraw; default 0. */
  overdraft?: number
}

/** Rate limits, shared by threads and nodes. */
export interface Limit {
  /** Takes one. Returns 0 if it may pass, else the milliseconds to wait. */
  take(key: string, rate: Rate, now: Date): Awaitable<number>
  /** Takes an amount, even if less is left: `peek` then waits until the overdraft is made up for. */
  spend(key: string, amount: number, rate: Rate, now: Date): Awaitable<void>
  /** What `take` would return, without taking. */
  peek(key: string, rate: Rate, now: Date): Awaitable<number>
  close(): Promise<void>
}
