import type { CommandContext } from '../../cli/context.ts'
import type { InstallationStore } from '../../keys/installation-store.ts'
import { ledgerKey } from '../rules/ledger.ts'
import { mailLogKey } from './rules.ts'

/** For commands, with what finds lines by address. Without a secret no service has run, and there are no lines. */
export async function readLogKey({
  withShop,
}: Pick<CommandContext<unknown, unknown, Pick<InstallationStore, 'findSecret'>>, 'withShop'>) {
  let secret: Uint8Array | undefined
  await withShop(async (shop) => {
    secret = await shop.findSecret()
  })
  return mailLogKey(ledgerKey(secret ?? new Uint8Array()))
}
