import { setTimeout as pause } from 'node:timers/promises'
import { styleText } from 'node:util'
import type { Command } from 'commander'
import { type CheckStatus, failure } from '../base/check-result.ts'
import { SettingsError } from '../base/settings/settings.ts'
import { printableLines } from '../base/text.ts'
import type { CommandContext } from '../cli/context.ts'
import {
  CommandError,
  type JsonOption,
  type Print,
  parseDomain,
  plural,
  printJson,
} from '../cli/output.ts'
import type { CheckConfig } from './checks.ts'
import type { CheckOptions } from './facts.ts'
import type { FinishedCheck } from './rules/result.ts'
import { type Check, runChecks } from './run-checks.ts'

interface DoctorContext extends Pick<CommandContext<CheckConfig>, 'config' | 'openLog'> {
  settings(): NonNullable<CheckOptions['settings']>
  /** Why there is none: before the first start, or if it is unusable. */
  openMailIfExists(): Promise<
    Pick<CheckOptions, 'storeFault' | 'inspectServer'> & {
      store: (CheckOptions['store'] & { close(): Promise<void> }) | undefined
    }
  >
}

interface DoctorOptions extends JsonOption {
  domain?: string
  listings?: boolean
}

export function addDoctorCommand(mayfly: Command, context: DoctorContext, print: Print): void {
  mayfly
    .command('doctor')
    .description('Check settings, DNS, TLS and delivery, and show how to fix what is wrong')
    .option('--json', 'print JSON')
    .option('--domain <name>', 'check only this mail domain')
    .option('--listings', 'also look up our addresses and domains in DNS block lists')
    .action(({ domain: given, listings = false, json }: DoctorOptions) => {
      const domain = given === undefined ? undefined : parseDomain(given)
      return withChecks(context, { domain, listings }, async (checks) => {
        const screen = process.stderr
        const show = (line: string) => void (screen.isTTY && screen.write(`${CLEAR_LINE}${line}`))
        const finished = await runChecks(checks, {
          onProgress: (pending) =>
            show(progressLine(checks.length, pending).slice(0, (screen.columns || 80) - 1)),
        })
        show('')
        if (json) printJson(finished, print)
        else for (const line of reportLines(finished, colored)) print(line)
        const failed = finished.filter(({ status }) => status === 'failure').length
        if (failed > 0) throw new CommandError(json ? '' : `${plural(failed, 'check')} failed.`)
      })
    })
}

const EXIT_MS = 500

/** Opens what the checks need for as long as the operation runs. With invalid settings, that is the only check. */
async function withChecks(
  context: DoctorContext,
  options: { domain: string | undefined; listings: boolean },
  operation: (checks: readonly Check[]) => Promise<void>,
): Promise<void> {
  let config: CheckConfig
  try {
    config = context.config()
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    const how = 'Correct the settings. All of them: mayfly config'
    const result = failure(error.problems.join('\n'), how)
    return await operation([{ name: 'settings', run: async () => result }])
  }
  const { openChecks } = await import('./checks.ts')
  const { store, ...faults } = await context.openMailIfExists()
  const log = await context.openLog()
  try {
    const opened = { log, settings: context.settings(), store, ...faults, ...options }
    await operation(await openChecks(config, opened))
  } finally {
    // A check that took too long may still have a connection open, also to the store.
    await Promise.race([store?.close(), pause(EXIT_MS, undefined, { ref: false })])
    setTimeout(() => process.exit(), EXIT_MS).unref()
  }
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
  const width = Math.max(...finished.map((check) => titleOf(check).length))
  const sorted = ORDER.flatMap((status) => finished.filter((check) => check.status === status))
  // DNS records and greetings of other servers are not ours.
  const indented = (text: string, by: number) =>
    printableLines(text).replaceAll('\n', `\n${' '.repeat(by)}`)
  const lines = sorted.flatMap((check) => {
    const { status, seen, fix } = check
    const head = `${paint(status, status.padEnd(7))}  ${titleOf(check).padEnd(width)}`
    const fixes = fix === '' ? [] : [`         Fix: ${indented(fix, 14)}`]
    return [`${head}  ${indented(seen, 9)}`, ...fixes]
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

/** Names some of the checks that still run. */
function progressLine(all: number, pending: readonly Check[]): string {
  const names = pending.slice(0, 3).map(titleOf).join(', ')
  return `${all - pending.length} of ${all} checks done; waiting for ${names}`
}
