import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { pathOf } from './tools/programs.ts'
import { note } from './tools/report.ts'

// Runs every program here, one after the other. A whole run is kept in RESULTS.md; `--quick` shows within minutes that
// everything works, with numbers that mean little.

const PROGRAMS = [
  'smtp-intake',
  'check-mail',
  'emails',
  'together',
  'visible',
  'imap-visible',
  'memory',
]
const NEEDED = [
  ['smtp-source', 'postfix'],
  ['postfix', 'postfix'],
  ['wrk', 'wrk'],
  ['dovecot', 'dovecot-imapd'],
] as const

const quick = process.argv.includes('--quick')
const missing = NEEDED.filter(([command]) => !pathOf(command)).map(([, name]) => name)

if (missing.length > 0) {
  note(`Missing on this machine. On Debian: apt-get install ${[...new Set(missing)].join(' ')}`)
  process.exitCode = 1
} else {
  const parts: string[] = []
  for (const name of PROGRAMS) parts.push(await run(name))
  if (!quick) keep(parts)
}

async function run(name: string): Promise<string> {
  const path = fileURLToPath(new URL(`${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, [path, ...process.argv.slice(2)], {
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

function keep(parts: readonly string[]): void {
  const head = [
    '# Results',
    '',
    'Written by `npm run bench`. Medians, in brackets the least and the most of all rounds.',
    '',
    '',
  ].join('\n')
  writeFileSync(new URL('RESULTS.md', import.meta.url), head + parts.join('\n'))
}
