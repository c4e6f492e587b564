import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import type { Batch, Part } from './part.ts'

/** What all batches of a part that ran on one commit and one machine found. */
export interface Run {
  commit: string
  machine: string
  /** The first and the last day. */
  days: [string, string]
  seconds: number
  done: number
  counts: Record<string, number>
  figures: Record<string, number>
  findings: string[]
}

export type Results = Record<Part['name'], Run[]>

export function readResults(file: string): Results {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results) : {}
}

export function writeResults(file: string, results: Results): void {
  const made = `${file}.${process.pid}`
  writeFileSync(made, `${JSON.stringify(results, undefined, 2)}\n`)
  renameSync(made, file)
}

/** What has been found by these parts, in all batches. */
export function findingsOf(results: Results, names: readonly Part['name'][]): string[] {
  return names.flatMap((name) =>
    (results[name] ?? []).flatMap(({ findings }) =>
      findings.map((finding) => `${name}: ${finding}`),
    ),
  )
}

export function doneBefore(results: Results, name: Part['name']): number {
  return (results[name] ?? []).reduce((sum, { done }) => sum + done, 0)
}

/** Adds a batch to the run of its commit and machine. */
export function addBatch(
  results: Results,
  name: Part['name'],
  batch: Batch,
  { commit, machine, seconds, day }: Pick<Run, 'commit' | 'machine' | 'seconds'> & { day: string },
): Results {
  const runs = results[name] ?? []
  const isSame = (run: Run) => run.commit === commit && run.machine === machine
  const before = runs.find(isSame)
  const { counts, figures = {} } = batch
  const run: Run = {
    commit,
    machine,
    days: [before?.days[0] ?? day, day],
    seconds: Math.round((before?.seconds ?? 0) + seconds),
    done: (before?.done ?? 0) + batch.done,
    counts: merge(before?.counts, counts, (one, other) => one + other),
    // One that could not be measured is a finding already.
    figures: merge(before?.figures, finite(figures), Math.max),
    findings: [...(before?.findings ?? []), ...batch.findings],
  }
  return { ...results, [name]: [...runs.filter((one) => !isSame(one)), run] }
}

function finite(figures: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).filter(([, value]) => Number.isFinite(value)))
}

export function merge(
  before: Record<string, number> = {},
  after: Record<string, number>,
  combine: (one: number, other: number) => number,
): Record<string, number> {
  const merged = { ...before }
  for (const [name, value] of Object.entries(after)) {
    const old = merged[name]
    merged[name] = old === undefined ? value : combine(old, value)
  }
  return merged
}

/** The commit that runs; `+` if files other than the results have been changed. */
export function currentCommit(root: string, resultFiles: readonly string[]): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' })
  const others = resultFiles.map((file) => `:(exclude)${file}`)
  const changed = git('status', '--porcelain', '--', '.', ...others) !== ''
  return `${git('rev-parse', '--short=8', 'HEAD').trim()}${changed ? '+' : ''}`
}

export function thisMachine(): string {
  const memory = Math.round(totalmem() / 1024 ** 3)
  return `${cpus().length} cores (${cpus()[0]?.model ?? process.arch}), ${memory} GB, Linux ${release().split('-')[0]}`
}
