import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { openScheduler, timed } from '../base/fair-scheduler.ts'
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
import { type DeliverDeps, deliverNext, type NextStep, newPosition } from './deliver.ts'
import type { DeliverableWebhook } from './rules.ts'

export interface RunDeps
  extends Omit<DeliverDeps, 'pace'>,
    Omit<LeaseDeps, 'store' | 'timing'>,
    Pick<MailDeps, 'log'> {
  bus: Pick<SubscribableBus, 'subscribe'>
  /** Without the test mode of a shop, test keys deliver nothing. */
  testKeys: boolean
  ended: AbortSignal
  timing?: SupervisionTiming
}

// A lease per group rather than per webhook: renewals cost the same however many there are.
const GROUPS = 8
// Deliveries at the same time, on this node. Of one key at most all but one.
const DELIVERIES = {
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
export function openPace() {
  let next: Promise<void> | undefined
  return async (): Promise<void> => {
    next ??= pause(GROUP_MS).finally(() => {
      next = undefined
    })
    await next
  }
}

/** Delivers the webhooks whose lease this node gets, until `ended`. */
export async function runWebhooks(deps: RunDeps): Promise<void> {
  const { shop, testKeys, timing = TIMING } = deps
  const scheduler = openScheduler(DELIVERIES)
  const pace = openPace()
  /** Names of the groups whose lease this node has. */
  const held = new Set<string>()
  const loops = new Map<string, Loop>()
  let listed: DeliverableWebhook[] = []

  const inTurn: InTurn = (keyId, deliver) =>
    scheduler.run({}, { owner: [`key ${keyId}`] }, () => timed(deliver))

  function startLoop(webhook: DeliverableWebhook): void {
    const end = new AbortController()
    const loop = runLoop({ ...deps, pace, inTurn }, webhook, end.signal)
    const done = loop.finally(() => loops.delete(webhook.id))
    loops.set(webhook.id, { end, done, conditions: conditionsOf(webhook) })
  }

  /** One loop per webhook of the groups held. */
  function update(): void {
    const mine = listed.filter(({ id }) => held.has(groupOf(id)))
    const conditions = new Map(mine.map((webhook) => [webhook.id, conditionsOf(webhook)]))
    for (const [id, loop] of loops) if (conditions.get(id) !== loop.conditions) loop.end.abort()
    for (const webhook of mine) if (!loops.has(webhook.id)) startLoop(webhook)
  }

  const runGroup = (name: string) => async (stop: AbortSignal) => {
    held.add(name)
    update()
    await untilAborted(stop)
    held.delete(name)
    const ending = [...loops].filter(([id]) => groupOf(id) === name)
    update()
    const done = Promise.all(ending.map(([, loop]) => loop.done))
    await withTimeout(GRACE_MS + timing.stopTimeoutMs, done)
  }

  async function list() {
    const all = await shop.listDeliverable()
    listed = all.filter(({ keyPrefix }) => testKeys || !isTestKey(keyPrefix))
    update()
    const names = new Set(listed.map(({ id }) => groupOf(id)))
    return [...names].map((name) => ({ name, run: runGroup(name) }))
  }

  await superviseTasks({ ...deps, timing, list })
  scheduler.close()
}

interface Loop {
  end: AbortController
  done: Promise<void>
  conditions: string
}

/** With others, a loop begins anew: it subscribes to the mail of its address, and what it has examined is stored at its end. */
function conditionsOf({ to, from, subject }: DeliverableWebhook): string {
  return JSON.stringify([to, from, subject])
}

function groupOf(webhookId: string): string {
  return `webhooks ${Number.parseInt(hash('sha256', webhookId).slice(0, 8), 16) % GROUPS}`
}

/** Runs a delivery when it is the turn of this key. */
type InTurn = (keyId: string, deliver: () => Promise<NextStep>) => Promise<NextStep>

interface LoopDeps extends RunDeps {
  pace(): Promise<void>
  inTurn: InTurn
}

/** Delivers one message after the other. */
async function runLoop(
  deps: LoopDeps,
  { id, keyId, to }: DeliverableWebhook,
  ended: AbortSignal,
): Promise<void> {
  const position = newPosition()
  const attempt = new AbortController()
  // Replaced before each look, so that they also resolve by what happens meanwhile.
  let [changed, mail] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const end = () => {
    changed.resolve()
    setTimeout(() => attempt.abort(), GRACE_MS).unref()
  }
  ended.addEventListener('abort', end, { once: true })
  const unsubscribes = [
    deps.bus.subscribe(webhookTopic(id), () => changed.resolve()),
    ...keyTopics(deps, { keyId, to: to ?? undefined }).map((topic) =>
      deps.bus.subscribe(topic, () => mail.resolve()),
    ),
  ]
  while (!ended.aborted) {
    changed = Promise.withResolvers()
    mail = Promise.withResolvers()
    const { waitMs } = await step()
    if (waitMs === undefined)
      await withTimeout(IDLE_MS, Promise.race([changed.promise, mail.promise]))
    else if (waitMs > 0) await withTimeout(Math.min(waitMs, MAX_WAIT_MS), changed.promise)
    // What is charged now, and recorded, shares a commit; and much mail at once is looked for once.
    if (waitMs !== 0) await deps.pace()
  }
  for (const unsubscribe of unsubscribes) unsubscribe()
  // Without it, what a filter has examined since the last time may be reported as a gap.
  await deps.shop
    .moveCursor(id, position)
    .catch((error: unknown) =>
      logFault(deps.log, error, 'storing the position of a webhook failed', { webhook: id }),
    )

  async function step(): Promise<NextStep> {
    try {
      return await deps.inTurn(keyId, async () => {
        ended.throwIfAborted()
        return await deliverNext(deps, id, { position, signal: attempt.signal })
      })
    } catch (error) {
      if (ended.aborted) return { waitMs: undefined }
      const isBusy = error instanceof Problem && !(error instanceof StoreUnavailable)
      if (isBusy) return { waitMs: BUSY_MS }
      logFault(deps.log, error, 'delivering a webhook failed; retrying', { webhook: id })
      return { waitMs: FAULT_MS }
    }
  }
}
