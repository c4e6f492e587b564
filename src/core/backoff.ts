/** Exponential backoff, in any unit of time. */
export interface Backoff {
  /** Delay after the first failure. */
  first: number
  max: number
}

/** Delay after this many failures in a row: doubles with each of them, up to the maximum; 0 after none. */
export function backoffDelay(failures: number, { first, max }: Backoff): number {
  return failures <= 0 ? 0 : Math.min(max, first * 2 ** (failures - 1))
}

/** A random part of the delay, so that clients which failed together do not retry together. `random` is from 0 to 1. */
export function withJitter(delay: number, random: number, least = 0.5, most = 1): number {
  return delay * (least + random * (most - least))
}
