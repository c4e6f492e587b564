import { ACKNOWLEDGED } from '../kit/store/ledger.ts'
import type { Part } from './part.ts'
import { merge, type Results, type Run } from './results.ts'

const START = '<!-- campaign: written by npm run campaign -->'
const END = '<!-- end of campaign -->'
const MAILS_GOAL = 1_000_000

/** The document with its tables replaced. */
export function withTables(document: string, tables: string): string {
  const [before, rest] = document.split(START)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined)
    throw new Error(`the document has no place for the tables: ${START} … ${END}`)
  return `${before}${START}\n\n${tables}\n${END}${after}`
}

/** A table of all parts, the mails looked for in all, and a table of the runs that they consist of. */
export function renderTables(parts: readonly Part[], results: Results): string {
  const known = parts.map((part) => ({ part, runs: results[part.name] ?? [] }))
  const mails = known
    .flatMap(({ runs }) => runs)
    .reduce((sum, { counts }) => sum + (counts[ACKNOWLEDGED] ?? 0), 0)
  return [
    table(
      ['Part', 'Done', 'Goal', 'Counted', 'Findings'],
      known.map(({ part, runs }) => [
        part.name,
        `${format(total(runs))} ${part.unit}`,
        format(part.goal),
        describe(runs) || 'not run yet',
        format(runs.reduce((sum, { findings }) => sum + findings.length, 0)),
      ]),
    ),
    `In all, ${format(mails)} acknowledged mails were looked for (goal: ${format(MAILS_GOAL)}).\n`,
    table(
      ['Part', 'Commit', 'Days', 'Duration', 'Done', 'Machine'],
      known.flatMap(({ part, runs }) =>
        runs.map(({ commit, days, seconds, done, machine }) => [
          part.name,
          commit,
          [...new Set(days)].join(' to '),
          duration(seconds),
          format(done),
          machine,
        ]),
      ),
    ),
  ].join('\n')
}

function total(runs: readonly Run[]): number {
  return runs.reduce((sum, { done }) => sum + done, 0)
}

function describe(runs: readonly Run[]): string {
  const sum = (one: number, other: number) => one + other
  const counts = runs.reduce<Record<string, number>>((all, run) => merge(all, run.counts, sum), {})
  const figures = runs.reduce<Record<string, number>>(
    (all, run) => merge(all, run.figures, Math.max),
    {},
  )
  return [
    ...Object.entries(counts).map(([name, value]) => `${format(value)} ${name}`),
    ...Object.entries(figures).map(([name, value]) => `${name}: ${format(value)}`),
  ].join(', ')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  return [head, head.map(() => '---'), ...rows].map(line).join('')
}

export function format(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 })
}

export function duration(seconds: number): string {
  const minutes = Math.round(seconds / 60)
  if (minutes === 0) return `${Math.round(seconds)} s`
  return minutes < 120 ? `${minutes} min` : `${format(minutes / 60)} h`
}
