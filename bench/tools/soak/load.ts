import { MAIL_MARK } from '../../../test/kit/store/ledger.ts'
import { waitUntil } from '../../../test/kit/wait-until.ts'
import { openAccount, openWebhook, type SoakAccount } from './deliveries.ts'
import { openMailboxes, type Recorded } from './mailboxes.ts'
import { openRequests, type SoakClient } from './requests.ts'
import { openSenders } from './senders.ts'
import { openTally, sumCounts, type Taken, type Tally } from './tally.ts'
import { openWatchers } from './watchers.ts'

/** Operations a second: a moderate mix of everything. */
export const RATES = {
  ...{ mails: 80, polls: 50, reads: 10, deletions: 2, sessions: 2, extensions: 1 },
  ...{ waits: 1, streams: 1, emails: 2, webhooks: 1, fetches: 0.5 },
}

/** Each returns whether there was something to do. */
type Operations = Record<keyof typeof RATES, () => Promise<boolean>>

/** Longer than the longest operation, a stream that reports nothing, and its requests that are repeated. */
const MAX_IDLE_MS = 900_000

export interface SoakLoad {
  take(): Taken
  /** Tokens, addresses and the like: no log may have them. */
  secrets(): Iterable<string>
  /** How many operations are under way. */
  pending(): number
  /** From now on, unique mails go to these mailboxes. */
  record(recorded: Recorded): void
  /** Resolves when everything that was started is over, or should be, with what is wrong then. */
  stop(): Promise<string[]>
  close(): void
}

interface LoadOptions {
  client: SoakClient
  /** Where the client sends its requests. */
  url: string
  key: string
  account: SoakAccount
}

/** Settings of a service for this load. A cool-down of an hour is the shortest with a Gmail account. */
export async function prepareLoad(folder: string) {
  const account = await openAccount(folder)
  const env = {
    ...account.env,
    MAYFLY_WEBHOOK_ALLOW: '127.0.0.1',
    MAYFLY_POOL_TTL: '5m',
    MAYFLY_ADDRESS_COOLDOWN: '1h',
  }
  return { account, env }
}

export async function startLoad({ client, url, key, account }: LoadOptions): Promise<SoakLoad> {
  const tally = openTally()
  const request = openRequests(client, tally)
  const senders = openSenders(client.smtp, tally)
  // Those whose mail is awaited do not queue behind the others after an outage.
  const prompt = openSenders(client.smtp, tally)
  const mailboxes = openMailboxes({ request, senders, tally, key })
  const webhook = await openWebhook({ request, senders: prompt, tally, key })
  // Repeated until the account is known to work.
  await account.addAlias(request)
  tally.take()
  const operations: Operations = {
    ...mailboxes.operations,
    ...openWatchers({ client, request, senders: prompt, tally }),
    webhooks: webhook.send,
    fetches: () => account.deliver(request, tally),
  }
  const starting = startAtRates(operations, tally)
  return {
    take: tally.take,
    secrets: () => [...tally.secrets, ...account.secrets, key, MAIL_MARK],
    pending: starting.pending,
    record: mailboxes.record,
    async stop() {
      starting.stop()
      const unfinished = await starting.idle(MAX_IDLE_MS)
      return [...unfinished, ...(await webhook.faults()), ...(await account.faults(url))]
    },
    close() {
      starting.stop()
      for (const one of [senders, prompt, webhook]) one.close()
    },
  }
}

const TICK_MS = 100
// About half a minute's work: if the service cannot keep up, nothing more is started, and it is reported.
const MAX_PENDING = 5_000

/** Starts operations however long the others take. */
export function startAtRates(operations: Partial<Operations>, tally: Tally) {
  const pending = new Set<{ name: string }>()

  async function start(name: keyof Operations): Promise<void> {
    if (pending.size >= MAX_PENDING) return tally.failed(`${name}: left out`)
    const operation = { name }
    pending.add(operation)
    try {
      if (await operations[name]?.()) tally.done(name)
    } catch (error) {
      tally.failed(`${name}: ${error}`)
    } finally {
      pending.delete(operation)
    }
  }

  const due = new Map(Object.keys(operations).map((name) => [name as keyof Operations, 0]))
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    // A timer that comes late must not lower the rates.
    const seconds = (now - last) / 1_000
    last = now
    for (const [name, left] of due) {
      let count = left + RATES[name] * seconds
      for (; count >= 1; count -= 1) void start(name)
      due.set(name, count)
    }
  }, TICK_MS)
  return {
    pending: () => pending.size,
    stop: () => clearInterval(timer),
    /** Resolves when all that were started are over, with those that are not by then. */
    async idle(maxMs: number): Promise<string[]> {
      await waitUntil(() => pending.size === 0, maxMs).catch(() => 'reported below')
      const counts = sumCounts([...pending].map(({ name }) => ({ [name]: 1 })))
      return Object.entries(counts).map(
        ([name, count]) => `${count} × ${name} not over ${maxMs / 1_000} s after the end`,
      )
    },
  }
}
