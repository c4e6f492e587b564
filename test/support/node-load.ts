import assert from 'node:assert/strict'
import { createSession, type MessageSummary, rawMail } from './api-client.ts'
import {
  type Ledger,
  type LedgerLine,
  openLedger,
  sendUntilStopped,
  sha256,
  type TestMailbox,
} from './ledger.ts'
import type { Nodes } from './nodes.ts'

export type Load = Awaited<ReturnType<typeof startLoad>>

interface LoadOptions {
  senders: number
  /** Mailboxes that one sender alone writes to, each sender. */
  ownBoxes: number
  /** Mailboxes that all write to, each with a reader. */
  crowdedBoxes: number
  name?: string
}

interface Listing {
  messages: MessageSummary[]
}

// What a sender may hear while something is down, beside 250; 0 is a connection that was closed.
const SMTP_UNAVAILABLE = [0, 421, 451]
// A pace that leaves a small machine room to start a node in.
const PACE_MS = 40
// As many as a list has at most: what it leaves out would be skipped by since_id.
const LIST_LIMIT = 500

/** Senders and waiting readers spread over the nodes. Whoever finds his node dead goes on at another. */
export async function startLoad(
  nodes: Nodes,
  { senders, ownBoxes, crowdedBoxes, name = 'ledger' }: LoadOptions,
) {
  const ledger = openLedger(`${nodes.folder}/${name}`)
  const make = (_: unknown, at: number) => createSession(nodes.urls[at % nodes.count] ?? '')
  const makeBoxes = (length: number) => Promise.all(Array.from({ length }, make))
  const crowded = await makeBoxes(crowdedBoxes)
  const sent = new Map<string, string>()
  const tally = { taken: 0, refused: 0, looked: 0, lookedEverywhere: 0 }
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
        // Whatever a node remembers of a mailbox, it is old news from here on.
        if (own.includes(box)) await Promise.all(nodes.urls.map((url) => list(url, box.token)))
      },
      async afterReply(code, { uuid, box }) {
        tally[code === 250 ? 'taken' : 'refused'] += 1
        if (code !== 250 && !SMTP_UNAVAILABLE.includes(code)) faults.push(`SMTP ${code}`)
        if (code === 250 && own.includes(box)) await checkEveryNode(box, uuid)
        await sleep(PACE_MS)
      },
    })
    sending -= 1
  }

  /** Right after the 250: it is in the list of every node that answers. */
  async function checkEveryNode({ token }: TestMailbox, uuid: string): Promise<void> {
    const lists = await Promise.all(nodes.urls.map((url) => list(url, token)))
    const answers = lists.filter((messages) => messages !== undefined)
    tally.looked += answers.length
    if (answers.length === nodes.count) tally.lookedEverywhere += 1
    const isSeen = (messages: MessageSummary[]) => messages.some(({ subject }) => subject === uuid)
    if (!answers.every(isSeen)) faults.push('a mail is not in the first list after its 250')
  }

  /** The messages; undefined while the node or the store is down, which is said in one of two ways alone. */
  async function list(
    url: string,
    token: string,
    query = '',
  ): Promise<MessageSummary[] | undefined> {
    const answer = await fetch(`${url}/api/check-mail?token=${token}${query}`).catch(
      () => undefined,
    )
    const text = await answer?.text().catch(() => undefined)
    if (answer === undefined || text === undefined) return undefined
    if (answer.status === 200) return ofMailbox((JSON.parse(text) as Listing).messages, token)
    const isAway =
      answer.status === 503 && /^[1-9]\d*$/.test(answer.headers.get('retry-after') ?? '')
    if (!isAway) faults.push(`HTTP ${answer.status} ${text}`)
    return undefined
  }

  function ofMailbox(messages: MessageSummary[], token: string): MessageSummary[] {
    if (messages.some(({ subject }) => sent.get(subject) !== token))
      faults.push('a mail is in a mailbox that it was not sent to')
    return messages
  }

  /** Waits at one node after the other, each time for what is newer than the last it has seen. */
  async function longPoll({ token }: TestMailbox, first: number): Promise<string[]> {
    const seen: string[] = []
    let since = 0
    for (let node = first, isLast = false; !isLast; node += 1) {
      const isOver = sending === 0
      const query = `&since_id=${since}&limit=${LIST_LIMIT}${isOver ? '' : '&wait=5'}`
      const messages = await list(nodes.urls[pickNode(nodes.up(), node)] ?? '', token, query)
      if (messages) since = messages[0]?.id ?? since
      else await sleep(PACE_MS)
      seen.push(...(messages ?? []).map(({ subject }) => subject))
      isLast = isOver && messages !== undefined
    }
    return seen
  }

  const sendings = Promise.all(Array.from({ length: senders }, (_, number) => send(number)))
  const followings = Promise.all(crowded.map(longPoll))
  for (const promise of [sendings, followings]) promise.catch(() => {})
  return {
    tally,
    boxes,
    /** Whose each mail is that was ever sent, answered or not. */
    sent,
    /** Resolves when so many more mails were taken. */
    async waitForMore(count: number): Promise<void> {
      for (const goal = tally.taken + count; tally.taken < goal; ) await sleep(PACE_MS)
    },
    /** When all is up again: the senders stop, the readers read to the end, and nothing is missing or out of place. */
    async finish(): Promise<{ lines: LedgerLine[]; kept: number }> {
      stopping = true
      await sendings
      const seen = await followings
      const lines = ledger.read()
      assert.deepEqual([...new Set(faults)], [])
      for (const [at, box] of crowded.entries()) {
        const uuids = new Set(seen[at])
        assert.equal(uuids.size, seen[at]?.length, 'no reader was told of a mail twice')
        const missed = lines.filter(({ token, uuid }) => token === box.token && !uuids.has(uuid))
        assert.deepEqual(missed, [], 'no reader missed a mail')
      }
      const kept = await compareWithLedger(nodes, { boxes, ledger, sent })
      ledger.close()
      return { lines, kept }
    },
  }
}

/** Every line is there with the same bytes, in the mailbox it was sent to, exactly once. The answer is how many there are. */
async function compareWithLedger(
  nodes: Nodes,
  {
    boxes,
    ledger,
    sent,
  }: { boxes: readonly TestMailbox[]; ledger: Ledger; sent: Map<string, string> },
): Promise<number> {
  const lines = ledger.read()
  let kept = 0
  const missing = new Map(lines.map((line) => [line.uuid, line]))
  const left = boxes.entries()
  const hold = async (worker: number) => {
    const url = nodes.urls[worker % nodes.count] ?? ''
    for (const [, { token }] of left) {
      const query = `token=${token}&limit=${LIST_LIMIT}`
      const answer = await fetch(`${url}/api/check-mail?${query}`)
      const { messages } = (await answer.json()) as Listing
      assert.ok(messages.length < LIST_LIMIT, 'all of a mailbox fits into one list')
      kept += messages.length
      const uuids = new Set(messages.map(({ subject }) => subject))
      assert.equal(uuids.size, messages.length, 'no mail is there twice')
      for (const { id, subject } of messages) {
        assert.equal(sent.get(subject), token, `${subject} is in a mailbox that it was not sent to`)
        const line = missing.get(subject)
        if (!line) continue // kept, but the answer was lost
        assert.equal(sha256(await rawMail(url, token, id)), line.sha256, `${subject} is whole`)
        missing.delete(subject)
      }
    }
  }
  await Promise.all(Array.from({ length: 4 * nodes.count }, (_, worker) => hold(worker)))
  assert.deepEqual([...missing.keys()], [], 'nothing in the ledger is missing')
  return kept
}

/** Of those that are up, the one whose turn it is. */
function pickNode(up: readonly number[], turn: number): number {
  return up[turn % up.length] ?? 0
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
