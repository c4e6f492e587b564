import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { createSession, type MessageSummary } from '../http/api-client.ts'
import {
  isLoss,
  type LedgerLine,
  ledgerFaults,
  sendUntilStopped,
  type TestMailbox,
} from '../store/ledger.ts'
import type { Nodes } from './nodes.ts'

export type Load = Awaited<ReturnType<typeof startLoad>>

interface LoadOptions {
  senders: number
  /** Per sender: mailboxes that only this sender writes to. */
  ownBoxes: number
  /** Mailboxes that all senders write to, each with a reader. */
  crowdedBoxes: number
}

interface Listing {
  messages: MessageSummary[]
}

// Replies that a sender may get during an outage, besides 250; 0 is a closed connection.
const SMTP_UNAVAILABLE = [0, 421, 451]
const PACE_MS = process.env['MAYFLY_TEST_LONG'] ? 40 : 80
// While a node starts, so that a small machine can do that meanwhile.
const SLOW_PACE_MS = 2 * PACE_MS
// The limit of a list: since_id would skip mails beyond it.
const LIST_LIMIT = 500

/** Senders and long-polling readers spread over the nodes. If a node is dead, they continue at another one. */
export async function startLoad(nodes: Nodes, { senders, ownBoxes, crowdedBoxes }: LoadOptions) {
  const ledger: LedgerLine[] = []
  const make = (_: unknown, at: number) => createSession(nodes.urls[at % nodes.count] ?? '')
  const makeBoxes = (length: number) => Promise.all(Array.from({ length }, make))
  const crowded = await makeBoxes(crowdedBoxes)
  const sent = new Map<string, string>()
  const tally = { taken: 0, refused: 0, checked: 0, checkedEverywhere: 0 }
  const faults: string[] = []
  const boxes = [...crowded]
  let stopping = false
  let sending = senders

  async function send(number: number): Promise<void> {
    const own = await makeBoxes(ownBoxes)
    boxes.push(...own)
    const smtpPort = () => nodes.smtpPorts[pickNode(nodes.up(), number)] ?? 0
    await sendUntilStopped([...own, ...crowded], {
      smtpPort,
      ledger,
      stopped: () => stopping,
      async beforeSend(uuid, box) {
        sent.set(uuid, box.token)
        // Everything that a node has cached for the mailbox is stale from now on.
        if (own.includes(box)) await Promise.all(nodes.urls.map((url) => list(url, box.token)))
      },
      async afterReply(code, { uuid, box }) {
        tally[code === 250 ? 'taken' : 'refused'] += 1
        if (code !== 250 && !SMTP_UNAVAILABLE.includes(code)) faults.push(`SMTP ${code}`)
        if (code === 250 && own.includes(box)) await checkEveryNode(box, uuid)
        await pause(nodes.up().length < nodes.count ? SLOW_PACE_MS : PACE_MS)
      },
    })
    sending -= 1
  }

  /** Right after the 250, the mail is in the list of every node that responds. */
  async function checkEveryNode({ token }: TestMailbox, uuid: string): Promise<void> {
    const lists = await Promise.all(nodes.urls.map((url) => list(url, token)))
    const responses = lists.filter((messages) => messages !== undefined)
    tally.checked += responses.length
    if (responses.length === nodes.count) tally.checkedEverywhere += 1
    const isSeen = (messages: MessageSummary[]) => messages.some(({ subject }) => subject === uuid)
    if (!responses.every(isSeen)) faults.push('a mail is not in the first list after its 250')
  }

  /** The messages; undefined while the node or the store is down, which must show as a closed connection or a 503. */
  async function list(
    url: string,
    token: string,
    query = '',
  ): Promise<MessageSummary[] | undefined> {
    const response = await fetch(`${url}/api/check-mail?token=${token}${query}`).catch(
      () => undefined,
    )
    const text = await response?.text().catch(() => undefined)
    if (response === undefined || text === undefined) return undefined
    if (response.status === 200) return ofMailbox((JSON.parse(text) as Listing).messages, token)
    const isUnavailable =
      response.status === 503 && /^[1-9]\d*$/.test(response.headers.get('retry-after') ?? '')
    if (!isUnavailable) faults.push(`HTTP ${response.status} ${text}`)
    return undefined
  }

  function ofMailbox(messages: MessageSummary[], token: string): MessageSummary[] {
    if (messages.some(({ subject }) => sent.get(subject) !== token))
      faults.push('a mail is in a mailbox that it was not sent to')
    return messages
  }

  /** Long-polls one node after the other, each time for messages newer than the last one seen. */
  async function longPoll({ token }: TestMailbox, first: number): Promise<string[]> {
    const seen: string[] = []
    let since = 0
    for (let node = first, isLast = false; !isLast; node += 1) {
      const isOver = sending === 0
      const query = `&since_id=${since}&limit=${LIST_LIMIT}${isOver ? '' : '&wait=2'}`
      const messages = await list(nodes.urls[pickNode(nodes.up(), node)] ?? '', token, query)
      if (messages) since = messages[0]?.id ?? since
      else await pause(PACE_MS)
      seen.push(...(messages ?? []).map(({ subject }) => subject))
      isLast = isOver && messages !== undefined
    }
    return seen
  }

  /** Each mail of the ledger is stored unchanged, in the right mailbox, exactly once. Returns the number of mails. */
  async function checkMailboxes(url: string, at: number) {
    const own = boxes.filter((_, number) => number % nodes.count === at)
    let stored = 0
    for (const { token } of own) {
      const messages = (await list(url, token, `&limit=${LIST_LIMIT}`)) ?? []
      expect(messages.length, 'all of a mailbox fits into one list').toBeLessThan(LIST_LIMIT)
      const uuids = new Set(messages.map(({ subject }) => subject))
      expect(uuids.size, 'no mail is there twice').toBe(messages.length)
      stored += messages.length
    }
    const found = await ledgerFaults(url, own, ledger)
    expect(found.filter(isLoss), 'nothing in the ledger is missing').toStrictEqual([])
    expect(found).toStrictEqual([])
    return stored
  }

  const sendings = Promise.all(Array.from({ length: senders }, (_, number) => send(number)))
  const readings = Promise.all(crowded.map(longPoll))
  for (const promise of [sendings, readings]) promise.catch(() => {})
  return {
    tally,
    boxes,
    /** The mailbox of every mail ever sent, acknowledged or not. */
    sent,
    /** Resolves when this many more mails have been acknowledged. */
    async waitForMore(count: number): Promise<void> {
      for (const goal = tally.taken + count; tally.taken < goal; ) await pause(PACE_MS)
    },
    /**
     * To be called when everything is up again: stops the senders, lets the readers catch up, and checks that no mail is
     * missing or misplaced.
     */
    async finish(): Promise<{ lines: LedgerLine[]; storedCount: number }> {
      stopping = true
      await sendings
      const seen = await readings
      const lines = ledger.filter(({ isAcknowledged }) => isAcknowledged)
      expect([...new Set(faults)]).toStrictEqual([])
      for (const [at, box] of crowded.entries()) {
        const uuids = new Set(seen[at])
        expect(uuids.size, 'no reader was told of a mail twice').toBe(seen[at]?.length)
        const missed = lines.filter(({ token, uuid }) => token === box.token && !uuids.has(uuid))
        expect(missed, 'no reader missed a mail').toStrictEqual([])
      }
      const checked = await Promise.all(nodes.urls.map((url, at) => checkMailboxes(url, at)))
      expect([...new Set(faults)]).toStrictEqual([])
      return { lines, storedCount: checked.reduce((sum, count) => sum + count, 0) }
    },
  }
}

/** Picks one of the running nodes, round robin. */
function pickNode(up: readonly number[], turn: number): number {
  return up[turn % up.length] ?? 0
}
