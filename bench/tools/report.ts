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
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { findProgram } from '../../test/kit/programs/programs.ts'
import { quick } from './options.ts'
import { benchFolder } from './processes.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

// Reports are written to standard output as Markdown, progress to standard error.

let report = ''

export function say(...lines: string[]): void {
  const text = `${lines.join('\n')}\n`
  report += text
  process.stdout.write(text)
}

export function fullReport(): string {
  return report
}

export function progress(line: string): void {
  process.stderr.write(`${line}\n`)
}

type Rows = readonly (readonly string[])[]

export function reportTable(head: readonly string[], rows: Rows): void {
  say('', tableText(head, rows), '')
}

function tableText(head: readonly string[], rows: Rows): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = head.map((_, index) => (index === 0 ? '---' : '---:'))
  return [head, rule, ...rows].map(line).join('\n')
}

const SCALING = new URL('../../docs/scaling.md', import.meta.url)

/** Also writes the table to docs/scaling.md. */
export function publishTable(name: string, head: readonly string[], rows: Rows): void {
  reportTable(head, rows)
  if (quick) return
  writeFileSync(SCALING, replaceTable(readFileSync(SCALING, 'utf8'), name, tableText(head, rows)))
}

/** What is between `<!-- costs: NAME -->` and `<!-- end of costs -->`. */
export function replaceTable(page: string, name: string, table: string): string {
  const [before, rest] = page.split(`<!-- costs: ${name} -->\n`)
  const end = rest?.indexOf('<!-- end of costs -->') ?? -1
  if (end < 0) throw new Error(`docs/scaling.md has no place for the table "${name}"`)
  return `${before}<!-- costs: ${name} -->\n${table}\n${rest?.slice(end)}`
}

export function reportGoal(goal: string, value: number, met: boolean): void {
  say(`- ${met ? 'met' : 'MISSED'}: ${goal}: ${figure(value)}`)
}

/**
 * Title, date, machine and versions. saveReport finds the section by the file name in the title. `against` is the other
 * checkout that the program measures.
 */
export function reportHeader(title: string, program: string, against?: string): void {
  const [first] = cpus()
  const load = loadavg()
    .map((value) => value.toFixed(2))
    .join(', ')
  say(
    `## ${title} (bench/${program}.ts)`,
    '',
    `- Date: ${formatTime(new Date())}`,
    `- Commit: ${commitOf(ROOT)}${against ? `; against: ${commitOf(against)}` : ''}`,
    `- Machine: ${cpus().length} cores (${first?.model.trim() || process.arch}), ${Math.round(totalmem() / 2 ** 30)} GB, Linux ${release()}, ${process.arch}`,
    `- Load average at start (1, 5, 15 min): ${load}`,
    `- Node ${process.versions.node}, SQLite ${sqliteVersion()}, ${packageVersions(['better-sqlite3', 'smtp-server'])}`,
    `- ${[version('postconf', ['-d', '-h', 'mail_version'], 'Postfix '), version('wrk', ['--version'], '')].join('; ')}`,
    `- Appending 4 KB with fdatasync in the temporary directory: ${figure(syncMs())} ms (median of 200)`,
  )
  // The load average includes the benchmark before; all.ts measures what others use.
  const { MAYFLY_BENCH_BUSY: busy } = process.env
  if (busy !== undefined) say(`- Other programs used ${busy} % of the cores before the start`)
  else if ((loadavg()[0] ?? 0) > 0.5)
    say('- **The machine was not idle: only the ratios are meaningful.**')
}

function formatTime(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** The commit of a checkout, and whether its files differ. RESULTS.md and docs/scaling.md are written during a run. */
function commitOf(root: string): string {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim()
  try {
    const changes = git('status', '--porcelain', '--', ':!bench/RESULTS.md', ':!docs/scaling.md')
    return git('rev-parse', '--short=8', 'HEAD') + (changes ? ', changed' : '')
  } catch {
    return 'unknown'
  }
}

function sqliteVersion(): string {
  const db = new Database(':memory:')
  const version = String(db.prepare('select sqlite_version()').pluck().get())
  db.close()
  return version
}

function packageVersions(names: readonly string[]): string {
  return names
    .map((name) => {
      const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url)
      const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string }
      return `${name} ${version}`
    })
    .join(', ')
}

function version(command: string, args: readonly string[], label: string): string {
  const path = findProgram(command)
  if (!path) return `${label}${command} is not installed`
  try {
    return label + firstLineOf(readOutput(path, args))
  } catch {
    return `${label}${command}, unknown version`
  }
}

function readOutput(path: string, args: readonly string[]): string {
  try {
    return execFileSync(path, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    // wrk --version exits with 1.
    if (error instanceof Error && 'stdout' in error) return String(error.stdout)
    throw error
  }
}

function firstLineOf(text: string): string {
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

/** In the order of RESULTS.md. */
export const PROGRAMS = [
  'smtp-intake',
  'mail-log',
  'check-mail',
  'postgres-intake',
  'fairness',
  'visible',
  'webhooks',
  'costs',
  'parse',
  'start',
  'memory',
  'soak',
]

const RESULTS = new URL('../RESULTS.md', import.meta.url)
const INTRODUCTION = 'Values are medians, with minimum and maximum over all rounds in parentheses.'
const SEVERAL_RUNS = `Generated by several runs of \`npm run bench\`. ${INTRODUCTION}`

/** Replaces the program's section of RESULTS.md. */
export function saveReport(name: string, report: string): void {
  const isOf = (section: string, program: string) =>
    section.split('\n', 1)[0]?.includes(`/${program}.ts)`)
  const sections = savedSections()
  const updated = PROGRAMS.flatMap((program) =>
    program === name ? [report] : sections.filter((section) => isOf(section, program)),
  )
  writeResults(SEVERAL_RUNS, updated)
}

/** After all programs have run: notes in RESULTS.md that all of it is of one run. */
export function saveWholeRun(started: Date): void {
  const time = `from ${formatTime(started)} to ${formatTime(new Date())}`
  writeResults(
    `Generated by one run of \`npm run bench\`, ${time}. ${INTRODUCTION}`,
    savedSections(),
  )
}

function savedSections(): string[] {
  if (!existsSync(RESULTS)) return []
  return readFileSync(RESULTS, 'utf8')
    .split(/^(?=## )/m)
    .slice(1)
}

function writeResults(introduction: string, sections: readonly string[]): void {
  const texts = ['# Results', introduction, ...sections].map((text) => text.trimEnd())
  writeFileSync(RESULTS, `${texts.join('\n\n')}\n`)
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Two table cells. */
export function p50AndP99(values: readonly number[]): string[] {
  return [figure(median(values)), figure(percentile(values, 0.99))]
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const upper = sorted[Math.floor(middle)] ?? Number.NaN
  const lower = sorted[Math.ceil(middle) - 1] ?? Number.NaN
  return (upper + lower) / 2
}

/** Three significant digits, with thousands separators. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '-'
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}

/** Median (minimum to maximum). */
export function spread(values: readonly number[]): string {
  if (values.length === 0) return '-'
  return `${figure(median(values))} (${figure(Math.min(...values))} to ${figure(Math.max(...values))})`
}

/**
 * Runs every contestant once per round, after a warm-up round that is not counted. The order rotates, so that background
 * load and cache effects are spread over all of them. Pass `warm = false` if every run starts from a fresh copy.
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
