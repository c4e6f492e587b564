/** How often something may happen: `count` in `seconds`, evenly, with `burst` of them at once. */
export interface Rate {
  count: number
  seconds: number
  burst: number
  /** How much beyond that `spend` may take in advance; default none. */
  overdraft?: number
}

/** Request rates, shared by threads and nodes. */
export interface Limit {
  /** Takes one; the answer is how many milliseconds to wait when there is none left, 0 when it may pass. */
  take(key: string, rate: Rate, now: Date): Promise<number>
  /** Takes so many at once, also when fewer are left: then `look` waits until they are made up for. */
  spend(key: string, amount: number, rate: Rate, now: Date): Promise<void>
  /** What `take` would answer, without taking. */
  look(key: string, rate: Rate, now: Date): Promise<number>
  close(): Promise<void>
}
