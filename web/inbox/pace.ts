/** How fast many requests may follow each other: so many at once, then so many a second. */
interface Pace {
  burst: number
  perSecond: number
}

/** Half of what the server lets one network ask for: the rest of the page, and other tabs, ask too. */
export const DELETES: Pace = { burst: 100, perSecond: 25 }

/** Says of each request how many milliseconds it has to wait; asked once for each. */
export function pacer({ burst, perSecond }: Pace): (now: number) => number {
  let left = burst
  let at: number | undefined

  return (now) => {
    left = Math.min(burst, left + ((now - (at ?? now)) / 1000) * perSecond)
    at = now
    left -= 1
    return left >= 0 ? 0 : (-left / perSecond) * 1000
  }
}
