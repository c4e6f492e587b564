import { randomBytes } from 'node:crypto'
import { type LeaseStore, runUnderLease } from '../base/jobs/lease.ts'
import { runUntilStopped } from '../base/jobs/repeat.ts'
import { openMailer } from '../base/mailer.ts'
import type { ShopDeps } from './deps.ts'
import { openPaymentProvider } from './pay/open.ts'
import { runReceipts } from './receipts.ts'
import { runReconcile } from './reconcile.ts'

interface JobDeps extends Pick<ShopDeps, 'shop' | 'now' | 'log'> {
  store: LeaseStore
  config: {
    payments: Omit<Parameters<typeof openPaymentProvider>[0], 'now'>
    mailOut: { url: string; from: string }
    http: { baseUrl: string }
  }
}

/** On one node at a time: processes events of the provider that were missed, and mails receipts. */
export async function startShopJobs({ config, store, ...deps }: JobDeps) {
  const { payments, mailOut, http } = config
  const pay = await openPaymentProvider({ ...payments, now: deps.now })
  const send = mailOut.url === '' ? undefined : openMailer(mailOut)
  const receipts = send && { ...deps, pay, send, baseUrl: http.baseUrl, randomBytes }
  const operation = async (ended: AbortSignal) => {
    await Promise.all([
      pay.remote && runReconcile({ ...deps, pay }, ended),
      receipts && runReceipts(receipts, ended),
    ])
  }
  if (!pay.remote && !receipts) return { stop: async () => {} }
  return runUntilStopped((ended) =>
    runUnderLease({ store, log: deps.log }, { name: 'shop', operation, ended }),
  )
}
