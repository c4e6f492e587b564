import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { findProgram } from '../test/kit/programs/programs.ts'
import { names, options, quick } from './tools/options.ts'
import { MAX_BUSY, waitUntilIdle } from './tools/processes.ts'
import { PROGRAMS, progress, saveReport, saveWholeRun } from './tools/report.ts'

// Runs all benchmarks, or those named as arguments, and writes their reports to RESULTS.md, on an idle machine only. `--quick`
// only checks, within minutes, that everything runs; it saves nothing.

const REQUIRED = [
  ['smtp-source', 'postfix'],
  ['postfix', 'postfix'],
  ['wrk', 'wrk'],
  ['dovecot', 'dovecot-imapd'],
  ['postgres', 'postgresql'],
  ['redis-server', 'redis-server'],
] as const

const started = new Date()
const unknown = names.filter((name) => !PROGRAMS.includes(name))
const missing = REQUIRED.filter(([command]) => !findProgram(command)).map(([, name]) => name)

if (unknown.length > 0) {
  progress(`Unknown benchmark: ${unknown.join(', ')}. Available: ${PROGRAMS.join(', ')}`)
  process.exitCode = 1
} else if (missing.length > 0) {
  progress(`Missing programs. On Debian: apt-get install ${[...new Set(missing)].join(' ')}`)
  process.exitCode = 1
} else {
  for (const name of names.length > 0 ? names : PROGRAMS.filter(isInWholeRun)) {
    const busy = quick ? undefined : await waitUntilIdle()
    const percent = Math.round((busy ?? 0) * 100)
    if (busy !== undefined && busy > MAX_BUSY) {
      progress(`Other programs use ${percent} % of the cores: ${name} would measure them. Stopped.`)
      process.exitCode = 1
      break
    }
    const report = await run(name, busy === undefined ? {} : { MAYFLY_BENCH_BUSY: `${percent}` })
    if (!quick) saveReport(name, report)
  }
  const isWhole = names.length === 0 && options.part === undefined
  if (isWhole && !quick && process.exitCode === undefined) saveWholeRun(started)
}

/** The soak takes half an hour: it runs if it is named, and briefly with `--quick`. */
function isInWholeRun(name: string): boolean {
  return name !== 'soak' || quick
}

async function run(name: string, env: Record<string, string>): Promise<string> {
  const path = fileURLToPath(new URL(`${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, [path, ...process.argv.slice(2)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  let report = ''
  child.stdout.on('data', (chunk: Buffer) => {
    report += chunk
    process.stdout.write(chunk)
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`bench/${name}.ts exited with ${code}`)
  return report
}
