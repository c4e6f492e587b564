import type { Command } from 'commander'
import { printable } from '../base/text.ts'
import { timestampFields } from '../base/time.ts'
import type { CommandContext } from '../cli/context.ts'
import {
  CommandError,
  formatCount,
  formatTime,
  type JsonOption,
  type Print,
  printJson,
  table,
} from '../cli/output.ts'
import { type Plan, validityOf } from '../shared/plan.ts'
import {
  findKeys,
  issueKey,
  type KeyDeps,
  type KeyRequest,
  keyJson,
  keyUsage,
  rollKey,
} from './keys.ts'
import { type ApiKey, utcDayText } from './rules.ts'
import { formatExpiry, keyLines, keyTable, plot, usageBars } from './usage-command.ts'

interface KeyContext extends CommandContext<{ plans: readonly Plan[] }, unknown, KeyDeps['shop']> {
  /** What a revoked key leaves behind, in lines. */
  keyHoldings(keyId: string): Promise<string[]>
}

export function addKeyCommands(key: Command, context: KeyContext, print: Print): void {
  const plans = () => context.config().plans
  const withKeys = (operation: (deps: KeyDeps) => Promise<void>) =>
    context.withShop((shop) => operation({ ...context, shop }))
  key.addHelpText('after', '\n<key> is the id of a key, or its prefix if that is unique.')
  key
    .command('issue')
    .description('Create a key (shown once)')
    .option('--plan <id>', 'plan of the key')
    .option('--label <text>', 'who or what the key is for')
    .option('--domains <count>', 'how many domains of its own it can have; default: as in the plan')
    .option('--json', 'print JSON')
    .addHelpText('after', () => `\nPlans:\n${planLines(plans()).join('\n')}`)
    .action((options: NewKeyOptions & JsonOption) => {
      const request = newKeyOptions(plans(), options)
      const { url } = context.endpoints()
      return withKeys((deps) => printNewKey(deps, request, { ...options, url }, print))
    })
  key
    .command('list')
    .description('List all keys, newest first')
    .option('--json', 'print JSON')
    .action((options: JsonOption) => withKeys((deps) => printKeys(deps, options, print)))
  key
    .command('show <key>')
    .description('Show one key')
    .option('--json', 'print JSON')
    .action((name: string, options: JsonOption) =>
      withKeys((deps) => printKey(deps, name, options, print)),
    )
  key
    .command('roll <key>')
    .description('Rotate the secret; the old one keeps working for 24 hours')
    .option('--json', 'print JSON')
    .action((name: string, options: JsonOption) =>
      withKeys((deps) => printRolledKey(deps, name, options, print)),
    )
  key
    .command('revoke <key>')
    .description('Revoke a key permanently')
    .action((name: string) =>
      withKeys((deps) => revokeKey({ ...deps, keyHoldings: context.keyHoldings }, name, print)),
    )
  key
    .command('label <key> <text>')
    .description('Set the label of a key')
    .action((name: string, text: string) =>
      withKeys((deps) => labelKey(deps, { name, text }, print)),
    )
  key
    .command('usage <key>')
    .description('Show usage, remaining requests and the last 30 days')
    .option('--json', 'print JSON')
    .action((name: string, options: JsonOption) =>
      withKeys((deps) =>
        printKeyUsage(deps, name, { ...options, drawn: process.stdout.isTTY }, print),
      ),
    )
}

interface NewKeyOptions {
  plan?: string
  label?: string
  domains?: string
}

/** Validates the options of `key issue` before any store is opened. */
export function newKeyOptions(
  plans: readonly Plan[],
  { plan: id, label = '', domains }: NewKeyOptions,
): KeyRequest {
  const plan = plans.find((plan) => plan.id === id?.toLowerCase())
  if (plan) {
    const given = domains === undefined ? {} : { domains: parseDomains(domains) }
    return { plan: { ...plan, ...given }, label: parseLabel(label), mode: 'live' }
  }
  const problem = id === undefined ? '--plan is missing.' : `Unknown plan ${JSON.stringify(id)}.`
  throw new CommandError(`${problem} Available plans:\n${planLines(plans).join('\n')}`, 2)
}

function parseDomains(text: string): number {
  if (/^\d{1,4}$/.test(text)) return Number(text)
  throw new CommandError('--domains: give a number from 0 to 9999.', 2)
}

function planLines(plans: readonly Plan[]): string[] {
  return table(
    plans.map((plan) => [
      `  ${plan.id}`,
      planText(plan),
      plan.months === undefined ? 'no expiry' : `valid for ${validityOf(plan)}`,
    ]),
  )
}

/** `100,000 requests, 1,000 a day` */
function planText({ requests, perDay }: Plan): string {
  return `${formatCount(requests)} requests${perDay === undefined ? '' : `, ${formatCount(perDay)} a day`}`
}

export async function printNewKey(
  deps: KeyDeps,
  request: KeyRequest,
  { json, url }: { json?: boolean; url: string },
  print: Print,
): Promise<void> {
  const { plan } = request
  const { key, secret } = await issueKey(deps, request)
  if (json) return printJson(secretJson(key, secret), print, 0)
  const rows = [
    ['Key', secret],
    ['', SHOWN_ONCE],
    ['Id', key.id],
    ['Plan', `${printable(plan.name)}: ${planText(plan)}`],
    ...(key.label === '' ? [] : [['Label', printable(key.label)]]),
    ['Expires', formatExpiry(key)],
    ['Try', `curl -s -H 'APIKey: ${secret}' ${url}/emails`],
  ]
  for (const line of table(rows)) print(line)
}

const SHOWN_ONCE = 'Shown only once: Mayfly stores just its hash.'

export async function printKeys(deps: KeyDeps, { json }: JsonOption, print: Print): Promise<void> {
  const now = deps.now()
  const keys = await deps.shop.listKeys({ now, limit: Number.MAX_SAFE_INTEGER })
  if (json) printJson(keys.map(keyJson), print)
  else if (keys.length === 0) print('No keys yet. Create one with: mayfly key issue --plan starter')
  else for (const line of keyTable(keys, now)) print(line)
}

export async function printKey(deps: KeyDeps, name: string, { json }: JsonOption, print: Print) {
  const key = await findKey(deps, name)
  if (json) printJson(keyJson(key), print)
  else for (const line of keyLines(key, deps.now())) print(line)
}

export async function printRolledKey(
  deps: KeyDeps,
  name: string,
  { json }: JsonOption,
  print: Print,
): Promise<void> {
  const key = await findKey(deps, name)
  const rolled = await rollKey(deps, key)
  if (!rolled) throw new CommandError(`${key.prefix} is revoked. Issue a new key instead.`)
  const { secret, oldUntil } = rolled
  if (json) {
    const until = timestampFields('former_until', oldUntil)
    return printJson({ ...secretJson(key, secret), ...until }, print, 0)
  }
  const rows = [
    ['Key', secret],
    ['', SHOWN_ONCE],
    ['Old key', `works until ${formatTime(oldUntil)}; both share plan and quota`],
  ]
  for (const line of table(rows)) print(line)
}

export async function revokeKey(
  deps: KeyDeps & Pick<KeyContext, 'keyHoldings'>,
  name: string,
  print: Print,
): Promise<void> {
  const key = await findKey(deps, name)
  const holdings = await deps.keyHoldings(key.id)
  await deps.shop.revokeKey(key.id)
  print(`Revoked ${key.prefix} (${key.id}).`)
  for (const line of holdings) print(line)
}

export async function labelKey(
  deps: KeyDeps,
  { name, text }: { name: string; text: string },
  print: Print,
): Promise<void> {
  const label = parseLabel(text)
  const key = await findKey(deps, name)
  await deps.shop.labelKey(key.id, label)
  print(`Set the label of ${key.prefix} to ${JSON.stringify(label)}.`)
}

export async function printKeyUsage(
  deps: KeyDeps,
  name: string,
  { json, drawn }: { json?: boolean; drawn: boolean },
  print: Print,
): Promise<void> {
  const key = await findKey(deps, name)
  const days = await keyUsage(deps, key.id)
  if (json) {
    const requests = days.map(({ day, count }) => ({ date: utcDayText(day), requests: count }))
    return printJson({ ...keyJson(key), days: requests }, print)
  }
  const rows = days.map(({ day, count }) => [utcDayText(day), String(count)])
  const lines = drawn
    ? [...usageBars(key, deps.now()), '', ...plot(days)]
    : [...keyLines(key, deps.now()), '', ...table([['DAY', 'REQUESTS'], ...rows])]
  for (const line of lines) print(line)
}

/** The only key with this id, this prefix, or this whole secret. */
async function findKey(deps: KeyDeps, name: string): Promise<ApiKey> {
  const [key, ...others] = await findKeys(deps, name)
  if (!key) throw new CommandError(`No key matches ${quoted(name)}. See: mayfly key list`)
  if (others.length === 0) return key
  const ids = [key, ...others].map(({ id }) => id).join(', ')
  throw new CommandError(`Several keys match ${quoted(name)}. Use an id: ${ids}`)
}

// The length of a key prefix: a whole key that was pasted must not be printed again.
const QUOTED_CHARS = 12

function quoted(name: string): string {
  const length = name.startsWith('key_') ? 2 * QUOTED_CHARS + 2 : QUOTED_CHARS
  const shown = name.slice(0, length)
  return JSON.stringify(printable(shown)) + (shown.length < name.length ? '…' : '')
}

const MAX_LABEL = 100

function parseLabel(text: string): string {
  const label = text.trim()
  if (label.length <= MAX_LABEL && printable(label) === label) return label
  throw new CommandError(`A label is one line of at most ${MAX_LABEL} characters.`, 2)
}

function secretJson(key: ApiKey, secret: string) {
  return {
    id: key.id,
    key: secret,
    prefix: key.prefix,
    plan: key.plan,
    label: key.label,
    requests: key.maxRequests,
    per_day: key.maxPerDay ?? null,
    domains: key.maxDomains,
    ...timestampFields('expires_at', key.expiresAt),
  }
}
