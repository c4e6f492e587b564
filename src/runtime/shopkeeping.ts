import { randomBytes, randomUUID } from 'node:crypto'
import type { Config } from '../config/config.ts'
import type { Log } from '../core/log.ts'
import { openPay } from '../pay/open.ts'
import { openReceiptMail } from '../pay/receipt-mail.ts'
import { underLease } from '../service/background/lease.ts'
import { sweepForEver } from '../service/background/sweep.ts'
import { receiptsForEver } from '../service/shop/receipts.ts'
import { reconcileForEver } from '../service/shop/reconcile.ts'
import type { ShopStore } from '../store/shop-store.ts'
import type { MailStore } from '../store/store.ts'

interface Deps {
  /** For the lease. */
  store: Pick<MailStore, 'takeLease' | 'endLease'>
  shop: ShopStore
  now(): Date
  log: Log
}

// What is swept is months old: there is no hurry.
const SWEEP_MS = 3_600_000

/**
 * What the shop does by itself, on one node at a time: it sweeps, asks the provider for what was missed, and mails receipts.
 * The answer ends it.
 */
export async function startShopkeeping(
  { payments, mailOut, http }: Config,
  { store, ...deps }: Deps,
): Promise<() => Promise<void>> {
  const end = new AbortController()
  const pay = await openPay({ ...payments, now: deps.now })
  const { shop, now, log } = deps
  const step = () => shop.sweepShop(now())
  const send = mailOut.url === '' ? undefined : openReceiptMail(mailOut)

  async function keepShop(ended: AbortSignal): Promise<void> {
    const work = [sweepForEver({ step, restMs: SWEEP_MS, ended, log })]
    if (pay.book) work.push(reconcileForEver({ ...deps, pay }, ended))
    if (send) {
      const { baseUrl } = http
      work.push(receiptsForEver({ ...deps, pay, send, baseUrl, randomBytes }, ended))
    }
    await Promise.all(work)
  }

  const work = { name: 'shop', operation: keepShop, ended: end.signal }
  const done = underLease({ store, newHolder: randomUUID, log }, work)
  return async () => {
    end.abort()
    await done
  }
}
