import { randomBytes } from 'node:crypto'
import { runUntilStopped } from '../base/jobs/repeat.ts'
import type { InstallationStore } from '../keys/installation-store.ts'
import type { SubscribableBus } from '../mail/deps.ts'
import { openLargeReads } from '../mail/read/large-reads.ts'
import type { ParseOnce } from '../mail/read/parse-once.ts'
import { openParsedMail } from '../mail/read/parsed-mail.ts'
import { openStepScheduler } from '../mail/read/step-scheduler.ts'
import { openWebhookClient } from './client.ts'
import { openEvents } from './event.ts'
import { type RunDeps, runWebhooks } from './run-webhooks.ts'
import type { webhookConfig } from './settings.ts'

interface JobDeps extends Pick<RunDeps, 'store' | 'now' | 'log'> {
  config: ReturnType<typeof webhookConfig> &
    Pick<RunDeps, 'poolAccess' | 'testKeys'> & { senderChecks: { dns: readonly string[] } }
  shop: RunDeps['shop'] & InstallationStore
  parse: ParseOnce
  openBus(): Promise<{ bus: SubscribableBus; close(): Promise<void> }>
}

/** Delivers webhooks, each on one node at a time. */
export async function startWebhooks({ config, parse, openBus, ...deps }: JobDeps) {
  const { webhooks, senderChecks, poolAccess, testKeys } = config
  if (!webhooks.on) return { stop: async () => {} }
  const { store, shop } = deps
  const installationSecret = await shop.installationSecret(randomBytes(32))
  const { bus, close } = await openBus()
  return runUntilStopped(async (ended) => {
    await runWebhooks({
      ...deps,
      bus,
      poolAccess,
      testKeys,
      event: openEvents(openParsedMail({ store, parse, largeReads: openLargeReads() })),
      steps: openStepScheduler(),
      webhookClient: openWebhookClient({ ...webhooks, dnsServers: senderChecks.dns }),
      installationSecret,
      retryDelaysMs: webhooks.retryDelaysMs,
      random: Math.random,
      ended,
    })
    await close()
  })
}
