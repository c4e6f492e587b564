import { bar, formatCount } from './output.ts'

export interface Progress {
  doing: string
  rows: number
  bytes: number
  /** Bytes are shown unless their total is 0. */
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

/** A progress bar on a terminal, else a line every few seconds. */
export function openProgress(screen: Screen, clock: () => number = () => performance.now()) {
  const isTerminal = screen.isTTY === true
  let shown: { at: number; doing: string } | undefined
  let start: { at: number; progress: Progress } | undefined

  return {
    tell(progress: Progress): void {
      const at = clock()
      if (start?.progress.doing !== progress.doing) start = { at, progress }
      const isNew = shown?.doing !== progress.doing
      const isDue = !shown || at - shown.at >= (isTerminal ? BAR_MS : LINES_MS)
      if (!isNew && !isDue && progress.rows < progress.all.rows) return
      shown = { at, doing: progress.doing }
      const line = progressLine(progress, start.progress, at - start.at)
      const drawn = `${bar(progress.rows, progress.all.rows, 24)} ${line}`
      // A wrapped line could not be cleared.
      const fitting = drawn.slice(0, (screen.columns ?? 80) - 1)
      screen.write(isTerminal ? `${CLEAR_LINE}${fitting}` : `${line}\n`)
    },
    /** Clears the bar. */
    end(): void {
      if (isTerminal && shown) screen.write(CLEAR_LINE)
    },
  }
}

function progressLine(progress: Progress, start: Progress, ms: number): string {
  const { doing, rows, bytes, all } = progress
  const [first = '', ...rest] = doing
  const parts = [
    `${first.toUpperCase()}${rest.join('')} ${formatCount(rows)} of ${formatCount(all.rows)} rows`,
  ]
  if (all.bytes > 0) parts.push(`${megabytes(bytes)} of ${megabytes(all.bytes)} MB`)
  const seconds = ms / 1_000
  const done = rows - start.rows
  if (seconds >= 1 && done > 0) {
    parts.push(`${formatCount(Math.round(done / seconds))} rows/s`)
    if (all.bytes > 0) parts.push(`${megabytes((bytes - start.bytes) / seconds)} MB/s`)
    if (rows < all.rows) parts.push(`${timeLeft(((all.rows - rows) * seconds) / done)} left`)
  }
  return parts.join(' · ')
}

function megabytes(bytes: number): string {
  return formatCount(Math.round(bytes / 100_000) / 10)
}

function timeLeft(seconds: number): string {
  const whole = Math.ceil(seconds)
  if (whole < 90) return `${whole} s`
  return whole < 5_400 ? `${Math.round(whole / 60)} min` : `${(whole / 3_600).toFixed(1)} h`
}
