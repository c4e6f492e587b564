import type { Command } from 'commander'
import { printable } from '../base/text.ts'
import { utcTimestamp } from '../base/time.ts'
import type { CommandContext } from '../cli/context.ts'
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
import type { webhookConfig } from './settings.ts'
import {
  adminWebhookJson,
  createWebhook,
  deleteWebhook,
  deliveryJson,
  findWebhook,
  OPERATOR,
  retryWebhook,
  rollWebhookSecret,
  testWebhook,
  type WebhookDeps,
  type WebhookOptions,
} from './webhooks.ts'

interface Config extends Pick<WebhookDeps, 'poolAccess'>, ReturnType<typeof webhookConfig> {
  senderChecks: { dns: readonly string[] }
}

type WebhookContext = Omit<
  CommandContext<Config, WebhookDeps['store'], WebhookDeps['shop']>,
  'endpoints' | 'openLog'
>

async function runWithWebhooks(
  context: WebhookContext,
  operation: (deps: WebhookDeps) => Promise<void>,
): Promise<void> {
  // Loaded here: no other command needs it.
  const { openWebhookClient } = await import('./client.ts')
  const { poolAccess, webhooks, senderChecks } = context.config()
  const deps = {
    ...context,
    poolAccess,
    webhookClient: openWebhookClient({ ...webhooks, dnsServers: senderChecks.dns }),
    // The service looks for changes by itself; rates do not apply to the operator.
    bus: { wake() {} },
    limit: { take: async () => 0, peek: async () => 0, spend: async () => {} },
  }
  await context.withMail((store) => context.withShop((shop) => operation({ ...deps, store, shop })))
}

interface AddOptions extends JsonOption {
  to?: string
  from?: string
  subject?: string
  since?: string
}

export function addWebhookCommands(webhook: Command, context: WebhookContext, print: Print): void {
  const withWebhooks: WithWebhooks = (operation) => runWithWebhooks(context, operation)
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
    .command('replay <id>')
    .description('Deliver messages again; each counts as one request')
    .requiredOption('--since <id>', 'messages newer than this id')
    .action((id: string, { since }: { since: string }) =>
      withWebhooks(async (deps) => {
        await retryWebhook(deps, id, OPERATOR, parseId(since))
        print(`Delivering messages newer than ${since} to ${id} again.`)
      }),
    )
  addActions(webhook, withWebhooks, print)
}

type WithWebhooks = (operation: (deps: WebhookDeps) => Promise<void>) => Promise<void>

/** Commands that take an id and nothing else. */
function addActions(webhook: Command, withWebhooks: WithWebhooks, print: Print): void {
  const add = (
    name: string,
    description: string,
    run: (deps: WebhookDeps, id: string) => Promise<string[]>,
  ) =>
    webhook
      .command(`${name} <id>`)
      .description(description)
      .action((id: string) =>
        withWebhooks(async (deps) => {
          for (const line of await run(deps, id)) print(line)
        }),
      )
  add('test', 'Send a test event now', async (deps, id) => {
    const outcome = await testWebhook(deps, id, OPERATOR)
    return [`${outcomeText(outcome)} after ${outcome.ms} ms`]
  })
  add('roll', 'Rotate the secret; the old one keeps working for 24 hours', async (deps, id) => {
    const { secret, oldUntil } = await rollWebhookSecret(deps, id, OPERATOR)
    const until = `valid until ${formatTime(oldUntil)}; until then, deliveries are signed with both`
    return table([
      ['Secret', secret],
      ['', 'Shown only once.'],
      ['Old secret', until],
    ])
  })
  add('enable', 'Enable a disabled webhook; retry a failing one now', async (deps, id) => {
    await retryWebhook(deps, id, OPERATOR)
    return [`Enabled ${id}.`]
  })
  add('delete', 'Delete a webhook', async (deps, id) => {
    await deleteWebhook(deps, id, OPERATOR)
    return [`Deleted ${id}.`]
  })
}

async function printWebhooks(
  { shop, now }: WebhookDeps,
  { json }: JsonOption,
  print: Print,
): Promise<void> {
  const page = { limit: Number.MAX_SAFE_INTEGER, now: now() }
  const webhooks = (await shop.listAllWebhooks(page)).toReversed()
  if (json) {
    const all = webhooks.map((one) => adminWebhookJson(one, page.now))
    return printJson(all, print)
  }
  if (webhooks.length === 0) return print('No webhooks yet.')
  const rows = webhooks.map((one) => {
    const { state, reason = '' } = webhookStatus(one, page.now)
    return [one.id, one.key.prefix, state, reason, one.url]
  })
  for (const line of listTable(['ID', 'KEY', 'STATE', 'REASON', 'URL'], rows)) print(line)
}

async function printWebhook(
  deps: WebhookDeps,
  id: string,
  { json }: JsonOption,
  print: Print,
): Promise<void> {
  const webhook = await findWebhook(deps, id, OPERATOR)
  const deliveries = await deps.shop.listDeliveries(id)
  if (json) {
    const attempts = deliveries.map(deliveryJson)
    return printJson({ ...adminWebhookJson(webhook, deps.now()), deliveries: attempts }, print)
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

async function addWebhook(
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
  const { webhook, secret } = await createWebhook(deps, options, { ...OPERATOR, keyId: key.id })
  if (json) return printJson({ ...adminWebhookJson(webhook, deps.now()), secret }, print)
  const rows = [
    ['Webhook', webhook.id],
    ['URL', printable(webhook.url)],
    ['Secret', secret],
    ['', 'Shown only once. To replace it: mayfly webhook roll'],
  ]
  for (const line of table(rows)) print(line)
}

function parseId(text: string): number {
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw new CommandError('--since: must be a message id, or 0 for all messages.', 2)
}
