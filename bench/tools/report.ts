import { execFileSync } from 'node:child_process'
import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { pathOf } from './programs.ts'
import { benchFolder } from './scratch.ts'
import { figure, median } from './stats.ts'

// The report goes to standard output as Markdown, what happens meanwhile to standard error.

let report = ''

export function say(...lines: string[]): void {
  const text = `${lines.join('\n')}\n`
  report += text
  process.stdout.write(text)
}

/** Everything that was said so far. */
export function reportSoFar(): string {
  return report
}

export function note(line: string): void {
  process.stderr.write(`${line}\n`)
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  say('', line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))))
  say(...rows.map(line), '')
}

/** One line that says whether a goal was reached, and by what. */
export function goal(what: string, value: number, reached: boolean): void {
  say(`- ${reached ? 'reached' : 'MISSED'}: ${what}: ${figure(value)}`)
}

/** What the numbers were measured on. */
export function describeMachine(): void {
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
  const path = pathOf(command)
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
