import { randomBytes } from 'node:crypto'
import { unlessUnavailable } from '../base/jobs/outage.ts'
import type { Log } from '../base/log/log.ts'
import { ledgerKey, ledgerWarning, openLedgerHmac } from '../mail/rules/ledger.ts'
import type { ShopStore, Store } from '../store/store.ts'
import type { Config } from './config.ts'
import { openLedgerStore } from './stores.ts'

interface LedgerDeps {
  shop: ShopStore
  now: Date
  log: Log
  /** See openLedgerStore. */
  onWait?: (others: string) => void
}

/**
 * Makes the ledger of addresses usable with the installation's secret, and returns the key made from it. A shop with a secret
 * and mail without a ledger means that it was lost: so its state is stored before the secret, and a crash in between loses nothing.
 */
export async function openLedger(
  config: Config,
  { shop, now, log, onWait }: LedgerDeps,
): Promise<Uint8Array> {
  const { cooldownMs, ...lifetimes } = config.sessions
  const ledger = await openLedgerStore(config, { onWait })
  try {
    const start = { now: await latestTime({ ledger, shop, now }), lifetimes, cooldownMs }
    await ledger.beginLedger({ ...start, isNew: !(await shop.hasServed()) })
    const key = ledgerKey(await shop.installationSecret(randomBytes(32)))
    const poolOff = config.poolAccess === 'off'
    const state = await ledger.prepareLedger({ ...start, hmac: openLedgerHmac(key), poolOff })
    const warning = ledgerWarning(state)
    if (warning !== undefined) log.warn({ see: 'mayfly ledger show' }, warning)
    return key
  } finally {
    await ledger.close()
  }
}

/** The latest of all known times: a clock that is behind must not shorten how long addresses are unknown. */
async function latestTime({
  ledger,
  shop,
  now,
}: Pick<LedgerDeps, 'shop' | 'now'> & {
  ledger: { serverTime(): Date | undefined | Promise<Date> }
}): Promise<Date> {
  const others = [await ledger.serverTime(), await shop.newestTime()]
  return new Date(Math.max(now.getTime(), ...others.map((time) => time?.getTime() ?? 0)))
}

/** What /readyz and the admin page show. */
export async function operatorWarnings(
  store: Pick<Store, 'readLedger'>,
  sweep: { warnings(): string[] },
): Promise<string[]> {
  const state = await unlessUnavailable(store.readLedger())
  const warning = state && ledgerWarning(state)
  return [...sweep.warnings(), ...(warning === undefined ? [] : [warning])]
}
