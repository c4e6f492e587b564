/** How often something may happen: `count` in `seconds`, evenly, with `burst` of them at once. */
export interface Rate {
  count: number
  seconds: number
  burst: number
}

/** Request rates, shared by threads and nodes. */
export interface Limit {
  /** Takes one; the answer is how many milliseconds to wait when there is none left, 0 when it may pass. */
  take(key: string, rate: Rate, now: Date): Promise<number>
  /** What `take` would answer, without taking. */
  look(key: string, rate: Rate, now: Date): Promise<number>
  close(): Promise<void>
}
