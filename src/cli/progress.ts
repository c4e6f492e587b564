import { bar, count } from './key-view.ts'

export interface Progress {
  doing: string
  rows: number
  bytes: number
  /** Bytes are shown unless there are 0 in all. */
  all: { rows: number; bytes: number }
}

interface Screen {
  isTTY?: boolean
  columns?: number
  write(text: string): unknown
}

const BAR_MS = 100
const LINES_MS = 3_000
const CLEAR_LINE = '\r\x1b[K'

/** Shows how far something is: a bar that is drawn anew where somebody looks on, else a line every few seconds. */
export function showProgress(screen: Screen, clock: () => number = () => performance.now()) {
  const isWatched = screen.isTTY === true
  let shown: { at: number; doing: string } | undefined
  let start: { at: number; progress: Progress } | undefined

  return {
    tell(progress: Progress): void {
      const at = clock()
      if (start?.progress.doing !== progress.doing) start = { at, progress }
      const isNew = shown?.doing !== progress.doing
      const isDue = !shown || at - shown.at >= (isWatched ? BAR_MS : LINES_MS)
      if (!isNew && !isDue && progress.rows < progress.all.rows) return
      shown = { at, doing: progress.doing }
      const line = progressLine(progress, start.progress, at - start.at)
      const drawn = `${bar(progress.rows, progress.all.rows, 24)} ${line}`
      // A line that was broken could not be wiped.
      const fitting = drawn.slice(0, (screen.columns ?? 80) - 1)
      screen.write(isWatched ? `${CLEAR_LINE}${fitting}` : `${line}\n`)
    },
    /** Leaves the screen to what comes next. */
    end(): void {
      if (isWatched && shown) screen.write(CLEAR_LINE)
    },
  }
}

/** How much of it is done, how fast, and how long it will take at that speed. */
function progressLine(progress: Progress, start: Progress, ms: number): string {
  const { doing, rows, bytes, all } = progress
  const [first = '', ...rest] = doing
  const parts = [`${first.toUpperCase()}${rest.join('')} ${count(rows)} of ${count(all.rows)} rows`]
  if (all.bytes > 0) parts.push(`${megabytes(bytes)} of ${megabytes(all.bytes)} MB`)
  const seconds = ms / 1_000
  const done = rows - start.rows
  if (seconds >= 1 && done > 0) {
    parts.push(`${count(Math.round(done / seconds))} rows/s`)
    if (all.bytes > 0) parts.push(`${megabytes((bytes - start.bytes) / seconds)} MB/s`)
    if (rows < all.rows) parts.push(`${timeLeft(((all.rows - rows) * seconds) / done)} left`)
  }
  return parts.join(' · ')
}

function megabytes(bytes: number): string {
  return count(Math.round(bytes / 100_000) / 10)
}

function timeLeft(seconds: number): string {
  const whole = Math.ceil(seconds)
  if (whole < 90) return `${whole} s`
  return whole < 5_400 ? `${Math.round(whole / 60)} min` : `${(whole / 3_600).toFixed(1)} h`
}
