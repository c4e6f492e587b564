/** A few requests are visible beside many. */
const MIN_HEIGHT = 0.03

/** The height of each day's bar; the busiest reaches 1. */
export function barHeights(counts: readonly number[]): number[] {
  const most = Math.max(...counts, 1)
  return counts.map((count) => (count === 0 ? 0 : Math.max(MIN_HEIGHT, count / most)))
}

/** The day that a keyboard key moves to; undefined for other keys. */
export function dayForKey(key: string, at: number, count: number): number | undefined {
  const last = count - 1
  const steps: Record<string, number> = {
    ArrowLeft: at - 1,
    ArrowDown: at - 1,
    ArrowRight: at + 1,
    ArrowUp: at + 1,
    PageDown: at - 7,
    PageUp: at + 7,
    Home: 0,
    End: last,
  }
  const to = steps[key]
  return to === undefined ? undefined : Math.min(last, Math.max(0, to))
}
