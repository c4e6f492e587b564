import { styleText } from 'node:util'
import type { Command } from 'commander'
import { printableLines } from '../base/text.ts'
import {
  CommandError,
  type JsonOption,
  type Print,
  parseDomain,
  plural,
  printJson,
} from '../cli/output.ts'
import { runChecks } from './checks/checks.ts'
import type { Check } from './checks/context.ts'
import type { CheckStatus, FinishedCheck } from './rules/result.ts'

export interface DoctorActions {
  /** Opens what the checks need for as long as the operation runs. */
  withChecks(
    options: { domain: string | undefined; listings: boolean },
    operation: (checks: readonly Check[]) => Promise<void>,
  ): Promise<void>
}

interface DoctorOptions extends JsonOption {
  domain?: string
  listings?: boolean
}

export function addDoctorCommand(mayfly: Command, actions: DoctorActions, print: Print): void {
  mayfly
    .command('doctor')
    .description('Check settings, DNS, TLS and delivery, and show how to fix what is wrong')
    .option('--json', 'print JSON')
    .option('--domain <name>', 'check only this mail domain')
    .option('--listings', 'also look up our addresses and domains in DNS block lists')
    .action(({ domain: given, listings = false, json }: DoctorOptions) => {
      const domain = given === undefined ? undefined : parseDomain(given)
      return actions.withChecks({ domain, listings }, async (checks) => {
        const progress = openCheckProgress(process.stderr)
        const finished = await runChecks(checks, {
          onProgress: (pending) => progress.tell(checks.length, pending),
        })
        progress.end()
        if (json) printJson(finished, print)
        else for (const line of reportLines(finished, colored)) print(line)
        const failed = finished.filter(({ status }) => status === 'failure').length
        if (failed > 0) throw new CommandError(json ? '' : `${plural(failed, 'check')} failed.`)
      })
    })
}

const COLORS = { ok: 'green', warning: 'yellow', failure: 'red', skipped: 'gray' } as const
type Paint = (status: CheckStatus, text: string) => string

const colored: Paint = (status, text) => styleText(COLORS[status], text, { stream: process.stdout })

/** What is wrong stands last, where it is seen. */
const ORDER: readonly CheckStatus[] = ['skipped', 'ok', 'warning', 'failure']

export function reportLines(
  finished: readonly FinishedCheck[],
  paint: Paint = (_status, text) => text,
): string[] {
  const titles = new Map(finished.map((check) => [check, titleOf(check)]))
  const width = Math.max(...[...titles.values()].map(({ length }) => length))
  const sorted = ORDER.flatMap((status) => finished.filter((check) => check.status === status))
  const lines = sorted.flatMap((check) => {
    const { status, seen, fix } = check
    const head = `${paint(status, status.padEnd(7))}  ${(titles.get(check) ?? '').padEnd(width)}`
    // DNS records and greetings of other servers are not ours.
    const [first = '', ...rest] = printableLines(seen).split('\n')
    const fixes = fix === '' ? [] : printableLines(fix).split('\n')
    return [
      `${head}  ${first}`,
      ...rest.map((line) => `         ${line}`),
      ...fixes.map((line, index) => `         ${index === 0 ? 'Fix: ' : '     '}${line}`),
    ]
  })
  return [...lines, '', summary(finished)]
}

function titleOf({ name, subject }: { name: string; subject?: string }): string {
  return subject === undefined ? name : `${name} ${subject}`
}

function summary(finished: readonly FinishedCheck[]): string {
  const count = (status: CheckStatus) => finished.filter((one) => one.status === status).length
  const parts = [
    plural(count('failure'), 'failure'),
    plural(count('warning'), 'warning'),
    `${count('ok')} ok`,
    `${count('skipped')} skipped`,
  ]
  return `${parts.join(', ')}.`
}

const CLEAR_LINE = '\r\x1b[K'

/** On a terminal, names the checks that still run. */
function openCheckProgress(screen: NodeJS.WriteStream) {
  return {
    tell(all: number, pending: readonly Check[]): void {
      if (!screen.isTTY || pending.length === 0) return
      const names = pending.slice(0, 3).map(titleOf).join(', ')
      const line = `${all - pending.length} of ${all} checks done; waiting for ${names}`
      screen.write(`${CLEAR_LINE}${line.slice(0, (screen.columns || 80) - 1)}`)
    },
    end(): void {
      if (screen.isTTY) screen.write(CLEAR_LINE)
    },
  }
}
