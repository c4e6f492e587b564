import type { Command } from 'commander'
import { printable } from '../base/text.ts'
import type { CommandContext } from '../cli/context.ts'
import {
  CommandError,
  formatCount,
  formatMinute,
  formatTime,
  type JsonOption,
  listTable,
  type Print,
  printJson,
  table,
} from '../cli/output.ts'
import { priceText, termText } from '../shared/plan.ts'
import type { ShopDeps } from './deps.ts'
import { maskedEmail, orderJson } from './order.ts'
import type { Order } from './rules.ts'

type OrderDeps = Pick<ShopDeps, 'shop'>

const MAX_LISTED = 1_000

type OrderContext = Pick<CommandContext<unknown, unknown, OrderDeps['shop']>, 'withShop'>

export function addOrderCommands(order: Command, { withShop }: OrderContext, print: Print): void {
  order
    .command('list')
    .description('List orders, newest first')
    .option('--json', 'print JSON')
    .action((options: JsonOption) => withShop((shop) => printOrders({ shop }, options, print)))
  order
    .command('show <order>')
    .description('Show one order')
    .option('--json', 'print JSON')
    .action((id: string, options: JsonOption) =>
      withShop((shop) => printOrder({ shop }, id, options, print)),
    )
}

export async function printOrders({ shop }: OrderDeps, { json }: JsonOption, print: Print) {
  const orders = await shop.listOrders({ limit: MAX_LISTED })
  if (json) return printJson(orders.map(orderJson), print)
  if (orders.length === 0) return print('No orders yet.')
  const rows = orders.map((order) => [
    order.id,
    formatMinute(order.createdAt),
    order.plan.id,
    order.state,
    maskedEmail(order) ?? '-',
    notesOf(order).join('; '),
  ])
  const head = ['ORDER', 'CREATED (UTC)', 'PLAN', 'STATE', 'EMAIL', 'NOTES']
  for (const line of listTable(head, rows)) print(line)
  if (orders.length === MAX_LISTED) print(`Showing the newest ${formatCount(MAX_LISTED)}.`)
}

export async function printOrder(
  { shop }: OrderDeps,
  id: string,
  { json }: JsonOption,
  print: Print,
): Promise<void> {
  const order = await shop.readOrder(id)
  if (!order) throw new CommandError(`No order ${JSON.stringify(id)}. See: mayfly order list`)
  if (json) return printJson({ ...orderJson(order), email: order.email ?? null }, print)
  const rows = [
    ['Order', order.id],
    ['Created', formatTime(order.createdAt)],
    ['Plan', `${printable(order.plan.name)}, ${priceText(order.plan)} ${termText(order.plan)}`],
    ['State', order.state],
    ['Payments', String(order.payments)],
    ['Paid until', order.paidUntil ? formatTime(order.paidUntil) : '-'],
    ['Key', order.payments > 0 ? `${order.keyPrefix} (${order.keyId})` : '-'],
    ['Claimed', order.claimedAt ? formatTime(order.claimedAt) : 'not yet'],
    // Unmasked: the operator may need to contact the buyer.
    ['Email', order.email === undefined ? '-' : printable(order.email)],
    ['Provider', `${order.provider}, ${order.mode}`],
    ['Checkout', order.checkoutRef ?? '-'],
    ...(order.subscriptionRef === undefined ? [] : [['Subscription', order.subscriptionRef]]),
    ...notesOf(order).map((note) => ['Note', note]),
  ]
  for (const line of table(rows)) print(line)
}

function notesOf(order: Order): string[] {
  return [
    ...(order.partlyRefunded ? ['partially refunded'] : []),
    ...(order.state === 'refunded' ? ['refunded: the key is suspended'] : []),
    ...(order.state === 'disputed' ? ['disputed: the key is suspended'] : []),
    ...(order.state === 'paid' && !order.claimedAt ? ['key not claimed yet'] : []),
  ]
}
