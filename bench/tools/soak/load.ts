import { setTimeout as pause } from 'node:timers/promises'
import { openAccount, openWebhook, type SoakAccount } from './deliveries.ts'
import { openMailboxes, type Recorded } from './mailboxes.ts'
import { openRequests, type SoakClient } from './requests.ts'
import { openSenders } from './senders.ts'
import { openTally, type Taken, type Tally } from './tally.ts'
import { openWatchers } from './watchers.ts'

/** Operations a second: a moderate mix of everything. */
export const RATES = {
  ...{ mails: 80, polls: 50, reads: 10, deletions: 2, sessions: 2, extensions: 1 },
  ...{ waits: 1, streams: 1, emails: 2, webhooks: 1, fetches: 0.5 },
}

type Operations = Record<keyof typeof RATES, () => Promise<unknown>>

export interface SoakLoad {
  take(): Taken
  /** How many operations are under way. */
  pending(): number
  /** From now on, unique mails go to these mailboxes. */
  record(recorded: Recorded): void
  /** Resolves when everything that was started is over, with what is wrong then. */
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
    fetches: () => account.deliver(request),
  }
  const starting = startAtRates(operations, tally)
  return {
    take: tally.take,
    pending: starting.pending,
    record: mailboxes.record,
    async stop() {
      starting.stop()
      await starting.idle()
      return [...(await webhook.faults()), ...(await account.faults(url))]
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
function startAtRates(operations: Operations, tally: Tally) {
  let pending = 0

  async function start(name: keyof Operations): Promise<void> {
    if (pending >= MAX_PENDING) return tally.failed(`${name}: left out`)
    pending += 1
    try {
      await operations[name]()
      tally.done(name)
    } catch (error) {
      tally.failed(`${name}: ${error}`)
    } finally {
      pending -= 1
    }
  }

  const due = new Map(Object.keys(RATES).map((name) => [name as keyof Operations, 0]))
  const timer = setInterval(() => {
    for (const [name, left] of due) {
      let now = left + (RATES[name] * TICK_MS) / 1_000
      for (; now >= 1; now -= 1) void start(name)
      due.set(name, now)
    }
  }, TICK_MS)
  return {
    pending: () => pending,
    stop: () => clearInterval(timer),
    /** Resolves when all that were started are over. */
    async idle(): Promise<void> {
      while (pending > 0) await pause(TICK_MS)
    },
  }
}
