import { Agent } from 'node:http'
import { hasErrorCode } from '../../../src/base/problem.ts'
import { statusOf } from '../http/status-of.ts'
import { openReceiver } from '../http/webhook-receiver.ts'
import { connectSmtp } from '../smtp/smtp-client.ts'
import { waitUntil } from '../wait-until.ts'
import { type Actor, call, form, repeatUntilStopped, type Target } from './actor.ts'

const CLIENTS = 2

/** Requests with a key until its plan is used up. */
export function quotaActor(): Actor {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  const tally = { answered: 0, lost: 0 }
  const faults: string[] = []
  let key: Record<string, string> = {}

  async function request({ url }: Target): Promise<void> {
    try {
      const status = await statusOf(`${url}/emails?to=nobody@pool.test`, { headers: key, agent })
      if (status === 200) tally.answered += 1
      else if (status === 503) tally.lost += 1
      else if (status !== 402) faults.push(`/emails: ${status}`)
    } catch (error) {
      // A refused connection was never charged.
      if (!hasErrorCode(error, 'ECONNREFUSED')) tally.lost += 1
    }
  }

  return {
    async begin(target) {
      key = { apikey: await issueKey(target) }
    },
    async run(target, round) {
      const client = () => repeatUntilStopped(round, 100, () => request(target))
      await Promise.all(Array.from({ length: CLIENTS }, client))
    },
    async faults(target) {
      return [...faults.splice(0), ...quotaFaults(tally, await usageOf(target, key))]
    },
    counts: () => ({ 'charged requests': tally.answered }),
    async close() {
      agent.destroy()
    },
  }
}

/** A request is charged, on disk, before it is answered; one that was charged without an answer was in flight during a fault. */
export function quotaFaults(
  { answered, lost }: { answered: number; lost: number },
  { used, limit }: { used: number; limit: number },
): string[] {
  const faults = []
  if (answered > limit) faults.push(`${answered} requests were answered with a plan of ${limit}`)
  if (used < answered) faults.push(`${answered} requests were answered, only ${used} charged`)
  if (used > answered + lost)
    faults.push(`${used} requests charged, ${answered} answered, ${lost} in flight during faults`)
  return faults
}

// Fewer than the requests of the key: each delivery is charged.
const MAX_DELIVERIES = 900
// So that they take about as long as a batch of faults.
const DELIVERY_PAUSE_MS = 100

/** Numbered mails for an address with a webhook: each is delivered at least once, in order, and charged once. */
export async function webhookActor(): Promise<Actor> {
  const receiver = await openReceiver()
  const acknowledged: number[] = []
  const numbers = () => receiver.received.map(({ event }) => Number(event.data['subject']))
  let sent = 0
  let key: Record<string, string> = {}
  const to = 'hook@pool.test'

  return {
    env: { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1' },
    async begin(target) {
      key = { apikey: await issueKey(target) }
      const options = { ...form({ url: receiver.url, to }), headers: key }
      const response = await call(`${target.url}/webhooks`, options)
      if (response?.status !== 200) throw new Error(`no webhook: ${JSON.stringify(response)}`)
    },
    async run({ smtpPort }, round) {
      while (!round.stopped()) {
        const client = await connectSmtp(smtpPort).catch(() => undefined)
        let code = client ? 250 : 0
        await repeatUntilStopped(
          { stopped: () => code !== 250 || sent === MAX_DELIVERIES || round.stopped() },
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
    faults: async () => orderFaults(numbers()),
    async drain(target) {
      const last = acknowledged.at(-1)
      if (last !== undefined)
        await waitUntil(() => numbers().includes(last)).catch(() => 'reported below')
      const missing = missingNumbers(acknowledged, numbers())
      const distinct = new Set(numbers()).size
      const { used } = await usageOf(target, key)
      return used === distinct || missing.length > 0
        ? missing
        : [`${distinct} messages were delivered to the webhook, ${used} charged`]
    },
    counts: () => ({ 'webhook deliveries': new Set(numbers()).size }),
    close: receiver.close,
  }
}

/** Deliveries may be repeated, but none comes after a later one. */
export function orderFaults(delivered: readonly number[]): string[] {
  return delivered.flatMap((number, at) => {
    const before = delivered[at - 1] ?? 0
    return number < before ? [`the webhook got mail ${number} after mail ${before}`] : []
  })
}

export function missingNumbers(
  acknowledged: readonly number[],
  found: readonly number[],
): string[] {
  const known = new Set(found)
  return acknowledged
    .filter((number) => !known.has(number))
    .map((number) => `mail ${number} never came to the webhook`)
}

async function issueKey({ mayfly }: Target): Promise<string> {
  const { stdout, stderr } = await mayfly('key', 'issue', '--plan', 'starter', '--json')
  if (stdout === '') throw new Error(stderr)
  return (JSON.parse(stdout) as { key: string }).key
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
