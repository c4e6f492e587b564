import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { openScheduler } from '../base/fair-scheduler.ts'
import { type LeaseDeps, untilAborted } from '../base/jobs/lease.ts'
import { logFault } from '../base/jobs/outage.ts'
import { withTimeout } from '../base/jobs/repeat.ts'
import {
  SUPERVISION_TIMING,
  type SupervisionTiming,
  superviseTasks,
} from '../base/jobs/supervise-tasks.ts'
import { Problem, StoreUnavailable } from '../base/problem.ts'
import { keyTopics } from '../keys/emails/emails.ts'
import { isTestKey } from '../keys/rules.ts'
import type { MailDeps, SubscribableBus } from '../mail/deps.ts'
import { webhookTopic } from '../mail/rules/session.ts'
import { type DeliverDeps, deliverNext, newPosition, storeSeen } from './deliver.ts'
import type { DeliverableWebhook } from './store.ts'

interface RunDeps
  extends Omit<DeliverDeps, 'inTurn'>,
    Omit<LeaseDeps, 'store' | 'timing'>,
    Pick<MailDeps, 'log'> {
  bus: Pick<SubscribableBus, 'subscribe'>
  /** Without the test mode of a shop, test keys deliver nothing. */
  testKeys: boolean
  ended: AbortSignal
  timing?: SupervisionTiming
  /** Only tests set these. */
  pace?: () => Promise<void>
  maxWaitMs?: number
}

// A lease per group rather than per webhook: renewals cost the same however many there are.
const GROUPS = 8
// Attempts at the same time, on this node. Of one key at most all but one.
const ATTEMPTS = {
  slots: 64,
  maxWaiting: 100_000,
  maxWaitingPerKey: 100,
  overloadMessage: 'Too many deliveries are waiting.',
}
const TIMING: SupervisionTiming = { ...SUPERVISION_TIMING, staggerMs: 50 }
// Wakes may get lost.
const IDLE_MS = 10_000
// The clock may be set, and tests move it.
const MAX_WAIT_MS = 30_000
const BUSY_MS = 2_000
const FAULT_MS = 5_000
// An attempt that ends soon is recorded; otherwise the next holder of the lease repeats it.
const GRACE_MS = 2_000

// Intake shares the disk: with 100 deliveries a second, this makes 200 commits into 50 or fewer.
const GROUP_MS = 20

/** Returns a function whose calls resolve together, some time after the first of them. */
export function openPace(rest = () => pause(GROUP_MS)) {
  let next: Promise<void> | undefined
  return async (): Promise<void> => {
    next ??= rest().finally(() => {
      next = undefined
    })
    await next
  }
}

/** Delivers the webhooks whose lease this node gets, until `ended`. */
export async function runWebhooks({ pace = openPace(), ...deps }: RunDeps): Promise<void> {
  const scheduler = openScheduler(ATTEMPTS)
  const inTurn: InTurn = (keyId, attempt) =>
    scheduler.run({}, { owner: [`key ${keyId}`] }, () => {
      const startedAt = performance.now()
      const result = attempt()
      const costMs = () => performance.now() - startedAt
      return { result, cost: result.then(costMs, costMs) }
    })
  const groups = new Map<string, ReturnType<typeof openGroup>>()
  let byGroup = new Map<string, DeliverableWebhook[]>()

  async function list() {
    const all = await deps.shop.listDeliverable()
    const webhooks = all.filter(({ keyPrefix }) => deps.testKeys || !isTestKey(keyPrefix))
    byGroup = Map.groupBy(webhooks, ({ id }) => groupOf(id))
    for (const [name, group] of groups) group.update(byGroup.get(name) ?? [])
    return [...byGroup.keys()].map((name) => ({ name, run: runGroup(name) }))
  }

  const shop: RunDeps['shop'] = {
    ...deps.shop,
    async recordAttempt(attempt) {
      await pace()
      return await deps.shop.recordAttempt(attempt)
    },
  }
  const runGroup = (name: string) => async (stop: AbortSignal) => {
    const group = openGroup({ ...deps, shop, inTurn, pace })
    groups.set(name, group)
    group.update(byGroup.get(name) ?? [])
    await untilAborted(stop)
    groups.delete(name)
    await group.close()
  }

  await superviseTasks({ timing: TIMING, ...deps, list })
  scheduler.close()
}

function groupOf(webhookId: string): string {
  return `webhooks ${Number.parseInt(hash('sha256', webhookId).slice(0, 8), 16) % GROUPS}`
}

type InTurn = NonNullable<DeliverDeps['inTurn']>
type GroupDeps = RunDeps & Required<Pick<RunDeps, 'pace'>> & { inTurn: InTurn }

/** One loop per webhook. */
function openGroup(deps: GroupDeps) {
  const loops = new Map<string, { end: AbortController; done: Promise<void> }>()

  function start(webhook: DeliverableWebhook): void {
    const end = new AbortController()
    const done = runLoop(deps, webhook, end.signal).finally(() => loops.delete(webhook.id))
    loops.set(webhook.id, { end, done })
  }

  return {
    update(webhooks: readonly DeliverableWebhook[]): void {
      const ids = new Set(webhooks.map(({ id }) => id))
      for (const [id, { end }] of loops) if (!ids.has(id)) end.abort()
      for (const webhook of webhooks) if (!loops.has(webhook.id)) start(webhook)
    },
    async close(): Promise<void> {
      const running = [...loops.values()]
      for (const { end } of running) end.abort()
      const { stopTimeoutMs } = deps.timing ?? TIMING
      await withTimeout(GRACE_MS + stopTimeoutMs, Promise.all(running.map(({ done }) => done)))
    },
  }
}

/** Delivers one message after the other. */
async function runLoop(
  deps: GroupDeps,
  webhook: DeliverableWebhook,
  ended: AbortSignal,
): Promise<void> {
  const { maxWaitMs = MAX_WAIT_MS } = deps
  const position = newPosition()
  const wake = openWakeSignal()
  const attempt = new AbortController()
  const end = () => {
    wake.changed()
    setTimeout(() => attempt.abort(), GRACE_MS).unref()
  }
  ended.addEventListener('abort', end, { once: true })
  const inTurn: InTurn = (keyId, run) =>
    deps.inTurn(keyId, () => {
      ended.throwIfAborted()
      return run()
    })
  const unsubscribes = [
    deps.bus.subscribe(webhookTopic(webhook.id), wake.changed),
    ...keyTopics(deps, webhook).map((topic) => deps.bus.subscribe(topic, wake.mail)),
  ]
  while (!ended.aborted) {
    wake.reset()
    const { waitMs } = await step()
    if (waitMs === undefined) await wake.wait({ ms: IDLE_MS, forMail: true })
    else if (waitMs > 0) await wake.wait({ ms: Math.min(waitMs, maxWaitMs), forMail: false })
    // What is charged now, and recorded, shares a commit; and much mail at once is looked for once.
    if (waitMs !== 0) await deps.pace()
  }
  for (const unsubscribe of unsubscribes) unsubscribe()
  await storeSeen(deps, webhook.id, position).catch((error: unknown) =>
    logFault(deps.log, error, 'storing the position of a webhook failed', { webhook: webhook.id }),
  )

  async function step() {
    try {
      return await deliverNext({ ...deps, inTurn }, webhook.id, {
        position,
        signal: attempt.signal,
      })
    } catch (error) {
      if (ended.aborted) return { waitMs: undefined }
      const isBusy = error instanceof Problem && !(error instanceof StoreUnavailable)
      if (isBusy) return { waitMs: BUSY_MS }
      logFault(deps.log, error, 'delivering a webhook failed; retrying', { webhook: webhook.id })
      return { waitMs: FAULT_MS }
    }
  }
}

/** Remembers what happens between `reset` and `wait`. */
function openWakeSignal() {
  let [isChanged, hasMail] = [false, false]
  let resume = (_hasMail: boolean) => {}
  return {
    reset() {
      isChanged = false
      hasMail = false
    },
    changed() {
      isChanged = true
      resume(false)
    },
    mail() {
      hasMail = true
      resume(true)
    },
    async wait({ ms, forMail }: { ms: number; forMail: boolean }): Promise<void> {
      if (isChanged || (hasMail && forMail)) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        resume = (byMail) => {
          if (byMail && !forMail) return
          clearTimeout(timer)
          resolve()
        }
      })
      resume = () => {}
    },
  }
}
