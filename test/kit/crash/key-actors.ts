import { Agent } from 'node:http'
import { hasErrorCode } from '../../../src/base/problem.ts'
import { statusOf } from '../http/status-of.ts'
import { openReceiver } from '../http/webhook-receiver.ts'
import { chargedPaths } from '../shop/charged-paths.ts'
import type { TestKey } from '../shop/keys.ts'
import { connectSmtp } from '../smtp/smtp-client.ts'
import { waitUntil } from '../wait-until.ts'
import {
  type Actor,
  call,
  form,
  type Round,
  repeatUntilStopped,
  type Target,
  withKeys,
} from './actor.ts'

// Of which a part is used before the fault, and the rest after it.
const PLAN = 300
const CLIENTS = 8
const REQUEST_PAUSE_MS = 100

/** Requests with a key, a new one for each fault, until its plan is used up. */
export function quotaActor(): Actor {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  const keys: TestKey[] = []
  const faults: string[] = []
  const total = { answered: 0, lost: 0, inUse: 0, usedUp: 0 }
  let paths: string[] = []
  let tally = { sent: 0, answered: 0, lost: 0 }
  const current = () => keys.at(-1)?.headers ?? {}

  async function issueNext(target: Target): Promise<void> {
    keys.push(await withKeys(target, ({ issue }) => issue({ requests: PLAN })))
    tally = { sent: 0, answered: 0, lost: 0 }
  }

  /** The status; 0 if there was no response. */
  async function request({ url }: Target, isOutage: Round['isOutage']): Promise<number> {
    tally.sent += 1
    const path = paths[tally.sent % paths.length] ?? ''
    try {
      const status = await statusOf(`${url}${path}`, { headers: current(), agent })
      if (status === 200) tally.answered += 1
      else if (isOutage(status)) tally.lost += 1
      else if (status !== 402) faults.push(`${path}: ${status}`)
      return status
    } catch (error) {
      // A refused connection was never charged.
      if (!hasErrorCode(error, 'ECONNREFUSED')) tally.lost += 1
      return 0
    }
  }

  // Right after a fault.
  const isStillDown = (status: number) => status === 503

  async function useUp(target: Target): Promise<void> {
    for (let status = 0, sent = 0; status !== 402 && sent < 2 * PLAN; sent += 1)
      status = await request(target, isStillDown)
  }

  const inParallel = (client: () => Promise<void>) =>
    Promise.all(Array.from({ length: CLIENTS }, client))

  return {
    // Charged by more than one thread.
    env: { MAYFLY_HTTP_THREADS: '2' },
    async begin(target) {
      const other = await withKeys(target, ({ issue }) => issue())
      paths = await chargedPaths(target, other)
      keys.push(other)
      await issueNext(target)
    },
    async run(target, round) {
      let isUsedUp = false
      await inParallel(() =>
        repeatUntilStopped(
          { stopped: () => isUsedUp || round.stopped() },
          REQUEST_PAUSE_MS,
          async () => {
            isUsedUp ||= (await request(target, round.isOutage)) === 402
          },
        ),
      )
      if (!isUsedUp) total.inUse += 1
    },
    async faults(target) {
      await inParallel(() => useUp(target))
      const usage = await usageOf(target, current())
      const found = [...faults.splice(0), ...quotaFaults(tally, usage)]
      total.answered += tally.answered
      total.lost += tally.lost
      if (usage.used === usage.limit) total.usedUp += 1
      await issueNext(target)
      return found
    },
    counts: () => ({
      'charged requests': total.answered,
      'requests without a reply': total.lost,
      'keys in use at a fault': total.inUse,
      'plans used up': total.usedUp,
    }),
    secrets: () => keys.map(({ secret }) => secret),
    async close() {
      agent.destroy()
    },
  }
}

/**
 * What is wrong with a key that was used up: a request is charged, on disk, before it is answered, and one that was charged without
 * a reply was in flight during a fault.
 */
export function quotaFaults(
  { answered, lost }: { answered: number; lost: number },
  { used, limit }: { used: number; limit: number },
): string[] {
  const faults = []
  if (answered > limit) faults.push(`${answered} requests were answered with a plan of ${limit}`)
  if (used < answered) faults.push(`${answered} requests were answered, only ${used} charged`)
  if (used > answered + lost)
    faults.push(`${used} requests charged, ${answered} answered, ${lost} in flight during faults`)
  if (used !== limit) faults.push(`${used} requests of a plan of ${limit} could be used`)
  return faults
}

const DELIVERY_PAUSE_MS = 100
// More than there are deliveries in a batch.
const DELIVERIES = 100_000

/** Numbered mails for an address with a webhook: each is delivered at least once, in order, and charged once. */
export async function webhookActor(): Promise<Actor> {
  const receiver = await openReceiver()
  const acknowledged: number[] = []
  const numbers = () => receiver.received.map(({ event }) => Number(event.data['subject']))
  let sent = 0
  let key: TestKey | undefined
  let secret = ''
  const to = 'hook@pool.test'

  return {
    env: { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1' },
    async begin(target) {
      key = await withKeys(target, ({ issue }) => issue({ requests: DELIVERIES }))
      const options = { ...form({ url: receiver.url, to }), headers: key.headers }
      const response = await call(`${target.url}/webhooks`, options)
      if (response?.status !== 200) throw new Error(`no webhook: ${JSON.stringify(response)}`)
      secret = (response.body['webhook'] as { secret: string }).secret
    },
    async run({ smtpPort }, round) {
      while (!round.stopped()) {
        const client = await connectSmtp(smtpPort).catch(() => undefined)
        let code = client ? 250 : 0
        await repeatUntilStopped(
          { stopped: () => code !== 250 || round.stopped() },
          DELIVERY_PAUSE_MS,
          async () => {
            sent += 1
            const raw = `From: a@sender.test\r\nSubject: ${sent}\r\n\r\n`
            const number = sent
            code = (await client?.send({ to: [to], raw }))?.code ?? 0
            if (code === 250) acknowledged.push(number)
          },
        )
        client?.close()
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    faults: async () => orderFaults(numbers(), sent),
    async drain(target) {
      let faults: string[] = []
      // One that is stored without a 250 may be the last to be delivered.
      const isComplete = async () => {
        const { used } = await usageOf(target, key?.headers ?? {})
        faults = deliveryFaults({ acknowledged, delivered: numbers(), used })
        return faults.length === 0
      }
      await waitUntil(isComplete).catch(() => 'reported below')
      return faults
    },
    counts: () => ({ 'webhook deliveries': new Set(numbers()).size }),
    secrets: () => (key ? [to, secret, key.secret] : []),
    close: receiver.close,
  }
}

/** Deliveries may be repeated, but none comes after a later one, and none is of another mail than those numbered 1 to `sent`. */
export function orderFaults(delivered: readonly number[], sent: number): string[] {
  return delivered.flatMap((number, at) => {
    const before = delivered[at - 1] ?? 0
    if (!(number >= 1 && number <= sent)) return [`the webhook got mail ${number} of ${sent}`]
    return number < before ? [`the webhook got mail ${number} after mail ${before}`] : []
  })
}

export function deliveryFaults({
  acknowledged,
  delivered,
  used,
}: {
  acknowledged: readonly number[]
  delivered: readonly number[]
  used: number
}): string[] {
  const distinct = new Set(delivered)
  const missing = acknowledged.filter((number) => !distinct.has(number))
  const faults = missing.map((number) => `mail ${number} never came to the webhook`)
  if (used !== distinct.size)
    faults.push(`${distinct.size} messages were delivered to the webhook, ${used} charged`)
  return faults
}

async function usageOf(
  { url }: Target,
  headers: Record<string, string>,
): Promise<{ used: number; limit: number }> {
  const response = await call(`${url}/usage`, { headers })
  if (response?.status !== 200) throw new Error(`/usage: ${JSON.stringify(response)}`)
  const { used, requests } = response.body as { used: number; requests: number }
  return { used, limit: requests }
}
