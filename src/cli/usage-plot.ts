import { dateOf } from '../core/quota.ts'
import { count } from './key-shown.ts'

interface Day {
  /** In days since 1970. */
  day: number
  count: number
}

const ROWS = 6
const EIGHTHS = ' ▁▂▃▄▅▆▇█'

/** Days as columns of blocks, with the largest count at the top and the first and last date below. */
export function plot(days: readonly Day[]): string[] {
  const most = Math.max(...days.map(({ count }) => count))
  if (most <= 0) return [`No requests in the last ${days.length} days.`]
  const top = count(most)
  const margin = ' '.repeat(top.length)
  const heights = days.map(({ count }) => heightOf(count, most))
  const rows = Array.from({ length: ROWS }, (_, row) => {
    const below = (ROWS - 1 - row) * 8
    const blocks = heights.map((height) => EIGHTHS[Math.min(8, Math.max(0, height - below))])
    return `${row === 0 ? `${top} ┤` : `${margin} │`}${blocks.join(' ')}`.trimEnd()
  })
  const width = days.length * 2 - 1
  const [first = '', last = ''] = [days[0], days.at(-1)].map((day) => day && dateOf(day.day))
  return [
    ...rows,
    `${'0'.padStart(top.length)} ┼${'─'.repeat(width)}`,
    `${margin}  ${first}${last.padStart(width - first.length)}`,
  ]
}

/** How much of it is used, as a bar. Only nothing is empty, and only all of it is full. */
export function bar(used: number, all: number, width = 30): string {
  const share = all > 0 ? Math.min(1, used / all) : 1
  const least = used > 0 ? 1 : 0
  const full = share === 1 ? width : Math.min(width - 1, Math.max(least, Math.round(share * width)))
  return '█'.repeat(full) + '░'.repeat(width - full)
}

/** In eighths of a row; a day with any request at all is seen. */
function heightOf(count: number, most: number): number {
  return count <= 0 ? 0 : Math.max(1, Math.round((count / most) * ROWS * 8))
}
