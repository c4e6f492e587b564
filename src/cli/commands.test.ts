import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { operatorFixture } from '../../test/kit/app/operator.ts'
import { shopFixture } from '../../test/kit/shop/commands.ts'
import { PLANS } from '../shared/plan.ts'
import { type CliContext, run } from './commands.ts'

// Whole command lines on real stores. In a process of its own: test/cli.test.ts.

const operator = operatorFixture()
const shop = shopFixture()
let opened = false

beforeEach(() => {
  opened = false
})
afterEach(() => vi.restoreAllMocks())

async function command(...args: string[]) {
  const out: unknown[] = []
  const err: unknown[] = []
  vi.spyOn(console, 'log').mockImplementation((line) => void out.push(line))
  vi.spyOn(console, 'error').mockImplementation((line) => void err.push(line))
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => err.push(text) > 0)
  const { store, now } = operator.deps()
  const context = {
    version: '1',
    config: () => ({ plans: PLANS }),
    withMail: (operation: (mail: typeof store) => Promise<void>) => operation(store),
    withShop(operation: (keys: typeof shop.store) => Promise<void>) {
      opened = true
      return operation(shop.store)
    },
    now,
  }
  const status = await run(args, context as unknown as CliContext)
  return { status, out, err: err.join('\n') }
}

describe('a command that fails prints one clear line and nothing else', () => {
  for (const [args, status, line] of [
    ['inbox --operator --all', 2, 'To delete: mayfly inbox --operator --delete ID'],
    ['inbox --delete 5', 2, 'To delete: mayfly inbox --operator --delete ID'],
    ['session end nobody@box.test', 1, 'No live session holds nobody@box.test.'],
    ['mail delete', 2, "required option '--from-ip <ip>' not specified"],
    ['mail delete --from-ip 10.0.0.0/8', 2, '"10.0.0.0/8" is not an IP address'],
    ['domain add box.test', 1, 'box.test already exists'],
    ['domain remove nowhere.test', 1, 'nowhere.test is not one of our domains'],
    ['domain activate no_name', 2, '"no_name" is not a domain name'],
    ['domain add x.test --ttl 1s', 2, 'ttl: must be from 1m'],
    ['domain add', 2, "missing required argument 'name'"],
    ['domain ad x.test', 2, "unknown command 'ad'"],
    ['domain list --jsn', 2, "unknown option '--jsn'"],
    ['key issue', 2, '--plan is missing. Available plans:'],
    ['key show key_nobody', 1, 'No key matches "key_nobody". See: mayfly key list'],
  ] as const) {
    test(args, async () => {
      const result = await command(...args.split(' '))
      expect(result).toEqual({ status, out: [], err: expect.stringContaining(line) })
      expect(result.err).not.toMatch(/\n {4}at /)
    })
  }
})

test('an unknown plan is refused before a store is opened', async () => {
  expect(await command('key', 'issue', '--plan', 'gold')).toMatchObject({ status: 2, out: [] })
  expect(opened).toBe(false)
})
