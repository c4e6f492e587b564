import { randomBytes } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Log } from '../core/log.ts'
import { openPay } from '../pay/open.ts'
import { openReceiptMail } from '../pay/receipt-mail.ts'
import { receiptsForEver } from '../service/receipts.ts'
import { reconcileForEver } from '../service/reconcile.ts'
import { sweepForEver } from '../service/sweep.ts'
import type { ShopStore } from '../store/store.ts'

interface Needs {
  shop: ShopStore
  now(): Date
  log: Log
}

// What is swept is months old: there is no hurry.
const SWEEP_MS = 3_600_000

/** What the shop does by itself: it sweeps, asks the provider for what was missed, and mails receipts. The answer ends it. */
export async function startShopkeeping(config: Config, needs: Needs): Promise<() => Promise<void>> {
  const { payments, mailOut, http } = config
  const end = new AbortController()
  const pay = await openPay({ ...payments, now: needs.now })
  const { shop, now, log } = needs
  const step = () => shop.sweepShop(now())
  const work = [sweepForEver({ step, restMs: SWEEP_MS, ended: end.signal, log })]
  if (pay.book) work.push(reconcileForEver({ ...needs, pay }, end.signal))
  if (mailOut.url !== '') {
    const send = openReceiptMail(mailOut)
    const { baseUrl } = http
    work.push(receiptsForEver({ ...needs, pay, send, baseUrl, randomBytes }, end.signal))
  }
  return async () => {
    end.abort()
    await Promise.all(work)
  }
}
