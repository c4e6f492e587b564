import type { Command } from 'commander'
import { printable } from '../base/text.ts'
import { utcTimestamp } from '../base/time.ts'
import {
  CommandError,
  formatTime,
  type JsonOption,
  listTable,
  type Print,
  printJson,
  table,
} from '../cli/output.ts'
import { findKeys } from '../keys/keys.ts'
import { outcomeText, webhookStatus } from './rules.ts'
import {
  createWebhook,
  deleteWebhook,
  deliveryJson,
  enableWebhook,
  findWebhook,
  replayWebhook,
  rollWebhookSecret,
  testWebhook,
  type WebhookDeps,
  type WebhookOptions,
  webhookJson,
} from './webhooks.ts'

export interface WebhookActions {
  withWebhooks(operation: (deps: WebhookDeps) => Promise<void>): Promise<void>
}

/** The operator may change every webhook. */
const OPERATOR = { keyId: undefined, client: undefined }

interface AddOptions extends JsonOption {
  to?: string
  from?: string
  subject?: string
  since?: string
}

export function addWebhookCommands(
  webhook: Command,
  { withWebhooks }: WebhookActions,
  print: Print,
): void {
  const json = ['--json', 'print JSON'] as const
  webhook
    .command('list')
    .description('List all webhooks, oldest first')
    .option(...json)
    .action((options: JsonOption) => withWebhooks((deps) => printWebhooks(deps, options, print)))
  webhook
    .command('show <id>')
    .description('Show a webhook and its last deliveries')
    .option(...json)
    .action((id: string, options: JsonOption) =>
      withWebhooks((deps) => printWebhook(deps, id, options, print)),
    )
  webhook
    .command('add <key> <url>')
    .description('Create a webhook for a key (its secret is shown once)')
    .option('--to <address>', 'only mail to this address')
    .option('--from <sender>', 'only mail from this address or domain')
    .option('--subject <text>', 'only mail with this text in the subject')
    .option('--since <id>', 'deliver messages newer than this id (default: from now on)')
    .option(...json)
    .action((key: string, url: string, options: AddOptions) =>
      withWebhooks((deps) => addWebhook(deps, { key, url, ...options }, print)),
    )
  webhook
    .command('test <id>')
    .description('Send a test event now')
    .action((id: string) => withWebhooks((deps) => printTest(deps, id, print)))
  webhook
    .command('replay <id>')
    .description('Deliver messages again; each counts as one request')
    .requiredOption('--since <id>', 'messages newer than this id')
    .action((id: string, { since }: { since: string }) =>
      withWebhooks(async (deps) => {
        await replayWebhook(deps, id, { ...OPERATOR, sinceId: parseId(since) })
        print(`Delivering messages newer than ${since} to ${id} again.`)
      }),
    )
  webhook
    .command('roll <id>')
    .description('Rotate the secret; the old one keeps working for 24 hours')
    .action((id: string) => withWebhooks((deps) => rollSecret(deps, id, print)))
  webhook
    .command('enable <id>')
    .description('Enable a disabled webhook; retry a failing one now')
    .action((id: string) =>
      withWebhooks(async (deps) => {
        await enableWebhook(deps, id, OPERATOR)
        print(`Enabled ${id}.`)
      }),
    )
  webhook
    .command('delete <id>')
    .description('Delete a webhook')
    .action((id: string) =>
      withWebhooks(async (deps) => {
        await deleteWebhook(deps, id, OPERATOR)
        print(`Deleted ${id}.`)
      }),
    )
}

export async function printWebhooks(
  { shop, now }: Pick<WebhookDeps, 'shop' | 'now'>,
  { json }: JsonOption,
  print: Print,
): Promise<void> {
  const ALL = { limit: Number.MAX_SAFE_INTEGER }
  const webhooks = (await shop.listAllWebhooks(ALL)).toReversed()
  if (json)
    return printJson(
      webhooks.map((one) => webhookJson(one, now())),
      print,
    )
  if (webhooks.length === 0) return print('No webhooks yet.')
  const prefixes = new Map(
    (await shop.listKeys({ now: now(), ...ALL })).map(({ id, prefix }) => [id, prefix]),
  )
  const rows = webhooks.map((one) => {
    const { state, reason = '' } = webhookStatus(one, now())
    return [one.id, prefixes.get(one.keyId) ?? '-', state, reason, one.url]
  })
  for (const line of listTable(['ID', 'KEY', 'STATE', 'REASON', 'URL'], rows)) print(line)
}

export async function printWebhook(
  deps: Pick<WebhookDeps, 'shop' | 'now'>,
  id: string,
  { json }: JsonOption,
  print: Print,
): Promise<void> {
  const webhook = await findWebhook(deps, id, OPERATOR)
  const deliveries = await deps.shop.listDeliveries(id)
  if (json) {
    const attempts = deliveries.map(deliveryJson)
    return printJson({ ...webhookJson(webhook, deps.now()), deliveries: attempts }, print)
  }
  const { state, reason, nextAttemptAt } = webhookStatus(webhook, deps.now())
  const optional: [string, string | undefined][] = [
    ['To', webhook.to],
    ['From', webhook.from],
    ['Subject', webhook.subject],
    ['Last delivery', webhook.lastDelivery && formatTime(webhook.lastDelivery.at)],
    ['Next attempt', nextAttemptAt && formatTime(nextAttemptAt)],
    ['Gap since', webhook.gapSince && formatTime(webhook.gapSince)],
  ]
  const rows = [
    ['Webhook', webhook.id],
    ['Key', webhook.keyId],
    ['URL', printable(webhook.url)],
    ['State', reason === undefined ? state : `${state} (${reason})`],
    ...optional.flatMap(([name, text]) => (text === undefined ? [] : [[name, printable(text)]])),
  ]
  for (const line of table(rows)) print(line)
  if (deliveries.length === 0) return
  print('')
  const attempts = deliveries.map(({ messageId, attempt, status, error, ms, at }) => [
    utcTimestamp(at),
    String(messageId),
    String(attempt),
    outcomeText({ status, error }),
    `${ms} ms`,
  ])
  const heading = ['TIME (UTC)', 'MESSAGE', 'ATTEMPT', 'RESULT', 'DURATION']
  for (const line of listTable(heading, attempts)) print(line)
}

export async function addWebhook(
  deps: WebhookDeps,
  { key: name, url, to, from, subject, since, json }: AddOptions & { key: string; url: string },
  print: Print,
): Promise<void> {
  const [key, ...others] = await findKeys(deps, name)
  if (!key || others.length > 0) {
    throw new CommandError('Specify one key by its id or prefix. See: mayfly key list')
  }
  const sinceId = since === undefined ? undefined : parseId(since)
  const options: WebhookOptions = { url, to, from, subject, sinceId }
  const { webhook, secret } = await createWebhook(deps, key, options, undefined)
  if (json) return printJson({ ...webhookJson(webhook, deps.now()), secret }, print)
  const rows = [
    ['Webhook', webhook.id],
    ['URL', printable(webhook.url)],
    ['Secret', secret],
    ['', 'Shown only once. To replace it: mayfly webhook roll'],
  ]
  for (const line of table(rows)) print(line)
}

async function printTest(deps: WebhookDeps, id: string, print: Print): Promise<void> {
  const outcome = await testWebhook(deps, id, OPERATOR)
  print(`${outcomeText(outcome)} after ${outcome.ms} ms`)
}

async function rollSecret(deps: WebhookDeps, id: string, print: Print): Promise<void> {
  const { secret, oldUntil } = await rollWebhookSecret(deps, id, OPERATOR)
  const rows = [
    ['Secret', secret],
    ['', 'Shown only once.'],
    [
      'Old secret',
      `valid until ${formatTime(oldUntil)}; until then, deliveries are signed with both`,
    ],
  ]
  for (const line of table(rows)) print(line)
}

function parseId(text: string): number {
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw new CommandError('--since: must be a message id, or 0 for all messages.', 2)
}
