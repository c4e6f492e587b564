import { existsSync, readFileSync, writeFileSync } from 'node:fs'

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
export function keepReport(name: string, report: string): void {
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
