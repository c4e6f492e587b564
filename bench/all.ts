import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { findProgram } from './tools/processes.ts'
import { PROGRAMS, progress, saveReport } from './tools/report.ts'

// Runs every program here, or those that are named, one after the other. What they report is kept in RESULTS.md, each part
// in its place; `--quick` shows within minutes that everything works, with numbers that mean little, and keeps nothing.

const NEEDED = [
  ['smtp-source', 'postfix'],
  ['postfix', 'postfix'],
  ['wrk', 'wrk'],
  ['dovecot', 'dovecot-imapd'],
  ['postgres', 'postgresql'],
  ['redis-server', 'redis-server'],
] as const

const options = process.argv.slice(2).filter((argument) => argument.startsWith('--'))
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const unknown = names.filter((name) => !PROGRAMS.includes(name))
const missing = NEEDED.filter(([command]) => !findProgram(command)).map(([, name]) => name)

if (unknown.length > 0) {
  progress(`There is no ${unknown.join(', ')} here, but: ${PROGRAMS.join(', ')}`)
  process.exitCode = 1
} else if (missing.length > 0) {
  progress(`Missing on this machine. On Debian: apt-get install ${[...new Set(missing)].join(' ')}`)
  process.exitCode = 1
} else {
  for (const name of PROGRAMS.filter((one) => names.length === 0 || names.includes(one))) {
    const report = await run(name)
    if (!options.includes('--quick')) saveReport(name, report)
  }
}

async function run(name: string): Promise<string> {
  const path = fileURLToPath(new URL(`${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, [path, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let report = ''
  child.stdout.on('data', (chunk: Buffer) => {
    report += chunk
    process.stdout.write(chunk)
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`bench/${name}.ts ended with ${code}`)
  return report
}
