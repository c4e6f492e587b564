import { execFileSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { benchFolder, findProgram } from './processes.ts'

// The report goes to standard output as Markdown, what happens meanwhile to standard error.

let report = ''

export function say(...lines: string[]): void {
  const text = `${lines.join('\n')}\n`
  report += text
  process.stdout.write(text)
}

/** Everything that was said so far. */
export function fullReport(): string {
  return report
}

export function progress(line: string): void {
  process.stderr.write(`${line}\n`)
}

export function reportTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  say('', line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))))
  say(...rows.map(line), '')
}

/** One line that says whether a goal was reached, and by what. */
export function reportGoal(what: string, value: number, reached: boolean): void {
  say(`- ${reached ? 'reached' : 'MISSED'}: ${what}: ${figure(value)}`)
}

/** What the numbers were measured on. */
export function reportMachine(): void {
  const [first] = cpus()
  const load = loadavg()
    .map((value) => value.toFixed(2))
    .join(', ')
  say(
    `- Date: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC`,
    `- Machine: ${cpus().length} cores (${first?.model.trim() || process.arch}), ${Math.round(totalmem() / 2 ** 30)} GB, Linux ${release()}, ${process.arch}`,
    `- Load before (1, 5, 15 min): ${load}`,
    `- Node ${process.versions.node}, SQLite ${sqliteVersion()}, ${packages(['better-sqlite3', 'fastify', 'smtp-server'])}`,
    `- ${[firstLine('postconf', ['-d', '-h', 'mail_version'], 'Postfix '), firstLine('wrk', ['--version'], '')].join('; ')}`,
    `- 4 KB appended and fdatasync in the scratch folder: ${figure(syncMs())} ms at the median of 200`,
  )
  if ((loadavg()[0] ?? 0) > 0.5) say('- **The machine was not idle: read the ratios only.**')
}

function sqliteVersion(): string {
  const db = new Database(':memory:')
  const version = String(db.prepare('select sqlite_version()').pluck().get())
  db.close()
  return version
}

function packages(names: readonly string[]): string {
  return names
    .map((name) => {
      const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url)
      const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string }
      return `${name} ${version}`
    })
    .join(', ')
}

function firstLine(command: string, args: readonly string[], label: string): string {
  const path = findProgram(command)
  if (!path) return `${label}${command} is not installed`
  try {
    return label + printedBy(path, args)
  } catch {
    return `${label}${command}, version unknown`
  }
}

function printedBy(path: string, args: readonly string[]): string {
  try {
    return firstOf(
      execFileSync(path, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
    )
  } catch (error) {
    // wrk --version says it and ends with 1.
    if (error instanceof Error && 'stdout' in error) return firstOf(String(error.stdout))
    throw error
  }
}

function firstOf(text: string): string {
  return (text.split('\n')[0] ?? '').split('Copyright')[0]?.trim() ?? ''
}

function syncMs(): number {
  const folder = benchFolder()
  const path = join(folder.path, 'sync')
  const file = openSync(path, 'w')
  const block = Buffer.alloc(4096, 1)
  const times = Array.from({ length: 200 }, () => {
    writeSync(file, block)
    const start = performance.now()
    fdatasyncSync(file)
    return performance.now() - start
  })
  closeSync(file)
  rmSync(path)
  return median(times)
}

/** In the order of their parts in RESULTS.md. */
export const PROGRAMS = [
  'smtp-intake',
  'check-mail',
  'emails',
  'together',
  'visible',
  'fairness',
  'imap-visible',
  'memory',
  'postgres-intake',
  'postgres-polls',
  'postgres-drop',
  'postgres-cost',
  'extend-wal',
  'nodes-visible',
]

const RESULTS = new URL('../RESULTS.md', import.meta.url)

/** Puts the report in the place of the program's former one; the rest of RESULTS.md stays as it is. */
export function saveReport(name: string, report: string): void {
  const former = existsSync(RESULTS)
    ? readFileSync(RESULTS, 'utf8')
        .split(/^(?=## )/m)
        .slice(1)
    : []
  const isOf = (part: string, program: string) =>
    part.split('\n', 1)[0]?.includes(`/${program}.ts)`)
  const parts = PROGRAMS.flatMap((program) =>
    program === name ? [report] : former.filter((part) => isOf(part, program)),
  )
  const head = [
    '# Results',
    '',
    'Written by the programs here (`npm run bench`). Medians, in brackets the least and the most of all rounds.',
  ]
  const texts = [head.join('\n'), ...parts].map((part) => part.trimEnd())
  writeFileSync(RESULTS, `${texts.join('\n\n')}\n`)
}

/** The value below which that share of them lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const upper = sorted[Math.floor(middle)] ?? Number.NaN
  const lower = sorted[Math.ceil(middle) - 1] ?? Number.NaN
  return (upper + lower) / 2
}

/** Three digits that count, thousands set apart. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '-'
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}

/** Median, and in brackets the least and the most of all rounds. */
export function spread(values: readonly number[]): string {
  return `${figure(median(values))} (${figure(Math.min(...values))} to ${figure(Math.max(...values))})`
}

/**
 * Runs every contestant once per round, and once before that does not count, so that all are warm. Each round starts
 * with another one: what the machine does meanwhile, and what the one before left in its caches, falls on all of them.
 * Where each run is on a fresh copy nothing would stay warm: then `warm` is false.
 */
export async function alternate<C extends { name: string }, R>(
  contestants: readonly C[],
  rounds: number,
  run: (contestant: C) => Promise<R>,
  warm = true,
): Promise<Map<string, R[]>> {
  const results = new Map<string, R[]>(contestants.map(({ name }) => [name, []]))
  for (let round = warm ? 0 : 1; round <= rounds; round += 1) {
    const shift = round % contestants.length
    for (const one of [...contestants.slice(shift), ...contestants.slice(0, shift)]) {
      progress(`  ${round === 0 ? 'warming up' : `round ${round} of ${rounds}`}: ${one.name}`)
      const result = await run(one)
      if (round > 0) results.get(one.name)?.push(result)
    }
  }
  return results
}
