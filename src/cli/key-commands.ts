import type { Command } from 'commander'
import type { Plan } from '../core/plan.ts'
import type { KeyAdminDeps } from '../service/keys/keys.ts'
import { issue, keyWish, label, list, revoke, roll, show } from './key.ts'
import { usage } from './key-usage.ts'
import { printOrder, printOrders } from './order.ts'
import type { Print } from './output.ts'
import type { Whereabouts } from './serve.ts'

interface KeyActions {
  here(): Whereabouts
  plans(): readonly Plan[]
  withKeys(operation: (book: KeyAdminDeps) => Promise<void>): Promise<void>
}

interface JsonOption {
  json?: boolean
}

const NAMED = 'a key is named by its id, or by what it begins with where that is one key’s alone'

export function addKeyCommands(key: Command, actions: KeyActions, print: Print): void {
  const { here, plans, withKeys } = actions
  key.addHelpText('after', `\n${NAMED}`)
  key
    .command('issue')
    .description('create a key (shown once)')
    .requiredOption('--plan <id>', 'the plan whose figures it has')
    .option('--label <text>', 'for whom or what it is')
    .option('--json', 'as JSON')
    .action((options: { plan: string; label?: string; json?: boolean }) => {
      const wish = keyWish(plans(), options)
      const { url } = here()
      return withKeys((book) => issue(book, wish, { ...options, url }, print))
    })
  key
    .command('list')
    .description('print them, the newest first')
    .option('--json', 'as JSON')
    .action((options: JsonOption) => withKeys((book) => list(book, options, print)))
  key
    .command('show <key>')
    .description('print what is known of it')
    .option('--json', 'as JSON')
    .action((name: string, options: JsonOption) =>
      withKeys((book) => show(book, name, options, print)),
    )
  key
    .command('roll <key>')
    .description('give it a new secret; the former one lives on for 24 hours')
    .option('--json', 'as JSON')
    .action((name: string, options: JsonOption) =>
      withKeys((book) => roll(book, name, options, print)),
    )
  key
    .command('revoke <key>')
    .description('end it now, for good')
    .action((name: string) => withKeys((book) => revoke(book, name, print)))
  key
    .command('label <key> <text>')
    .description('say for whom or what it is')
    .action((name: string, text: string) => withKeys((book) => label(book, { name, text }, print)))
  key
    .command('usage <key>')
    .description('show what is used and left, and the last 30 days')
    .option('--json', 'as JSON')
    .action((name: string, options: JsonOption) =>
      withKeys((book) => usage(book, name, { ...options, drawn: process.stdout.isTTY }, print)),
    )
}

export function addOrderCommands(order: Command, { withKeys }: KeyActions, print: Print): void {
  order
    .command('list')
    .description('print what was sold, the newest first')
    .option('--json', 'as JSON')
    .action((options: JsonOption) => withKeys((book) => printOrders(book, options, print)))
  order
    .command('show <order>')
    .description('print what is known of one')
    .option('--json', 'as JSON')
    .action((id: string, options: JsonOption) =>
      withKeys((book) => printOrder(book, id, options, print)),
    )
}
