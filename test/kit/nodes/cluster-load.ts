import { setTimeout as pause } from 'node:timers/promises'
import { openKeyRing } from '../shop/keys.ts'
import { isDelivered } from './check-history.ts'
import type { Cluster } from './cluster.ts'
import { openRecorder, watchLeases } from './cluster-clients.ts'
import { NODES } from './cluster-config.ts'
import {
  byKey,
  byToken,
  DOORS,
  type Door,
  type LoadKey,
  type Mailbox,
  recordedRequests,
} from './cluster-requests.ts'
import { type EntryOf, openHistory } from './history.ts'

export type ClusterLoad = Awaited<ReturnType<typeof startClusterLoad>>

const PAUSE_MS = 150
const READER_PAUSE_MS = 1_000
const LOOK_MS = 1_000
const MAILBOXES = 24
/** Between two deliveries: retries, and a lease that has to end first. */
const DELIVERY_MS = 90_000
/** In which everything works again once a fault is over; leases have to end first, and the machine may be busy. */
const WORKING_MS = 120_000
const LARGE_PLAN = 1_000_000
// Each is used up within some turns of the races.
const SMALL_PLAN = 30
const SMALL_KEYS = 6
const TURNS_PER_KEY = 8
// Each may ask for 60 messages a minute that it does not see.
const STRANGERS = 4

/** Clients of a cluster that record everything; the history alone is checked afterwards. */
export async function startClusterLoad(cluster: Cluster, random: () => number) {
  const history = openHistory()
  const requests = recordedRequests(cluster, history, random)
  const { surprises, secrets, note, pick, create, send, list, read, remove, request } = requests
  const loops: Promise<void>[] = []
  const looks: Promise<unknown>[] = []
  let stopping = false

  const ring = await openKeyRing({
    config: { data: cluster.folder, store: cluster.store },
    now: () => new Date(),
  })
  async function issue(name: string, plan: number): Promise<LoadKey> {
    const key = await ring.issue({ requests: plan })
    secrets.add(key.secret)
    note({ kind: 'issue', key: name, requests: plan }, 'operator', 'haproxy', history.now(), 'done')
    return { name, key }
  }
  async function issueSeveral(name: string, count: number, plan: number): Promise<LoadKey[]> {
    const keys: LoadKey[] = []
    while (keys.length < count) keys.push(await issue(`${name}-${keys.length}`, plan))
    return keys
  }
  const large = await issue('large', LARGE_PLAN)
  const strangers = await issueSeveral('stranger', STRANGERS, LARGE_PLAN)
  const small = await issueSeveral('small', SMALL_KEYS, SMALL_PLAN)
  await ring.close()

  /** With the token of another mailbox, the key of somebody else, and a token that nobody has. */
  async function attack(door: Door, box: Mailbox): Promise<void> {
    const foreign = pick(mailboxes.filter((one) => one !== box))
    await read('stranger', door, box, byToken(foreign))
    await remove('stranger', door, box, foreign)
    await read('stranger', door, box, byKey(pick(strangers)))
    const { token } = box
    const wrong = `${token.slice(0, -2)}${token.endsWith('AA') ? 'QQ' : 'AA'}`
    await list('stranger', door, box, wrong)
  }

  const mailboxes: Mailbox[] = []
  /** Of every third the key may see the mail. */
  for (let at = 0; mailboxes.length < MAILBOXES && at < 2 * MAILBOXES; at += 1) {
    const key = mailboxes.length % 3 === 0 ? { key: large } : {}
    const box = await create(pick(DOORS), `box-${at}`, key)
    if (box) mailboxes.push(box)
  }
  const keyed = mailboxes.filter((_, at) => at % 3 === 0)

  const receiver = await openRecorder(cluster, history, random)
  let isSubscribed = false
  for (let attempt = 0; !isSubscribed && attempt < 5; attempt += 1)
    isSubscribed = await requests.subscribe(`hook-${attempt}`, large, receiver.url)
  if (!isSubscribed || mailboxes.length < MAILBOXES) {
    receiver.close()
    throw new Error('the cluster does not respond')
  }

  function loop(step: (turn: number) => Promise<unknown>): void {
    const run = async () => {
      for (let turn = 0; !stopping; turn += 1) {
        await step(turn)
        await pause(PAUSE_MS * (0.5 + random()))
      }
    }
    const done = run()
    done.catch(() => {})
    loops.push(done)
  }

  async function sendAndLook(client: string, door: Door, box: Mailbox): Promise<void> {
    if ((await send(client, door, box)) !== 'done') return
    // Right after the 250, every node that answers has the mail in its list. One that hangs does not hold up the sender.
    const look = Promise.all(NODES.map((node) => list(client, node, box)))
    looks.push(look)
    await Promise.race([look, pause(LOOK_MS)])
  }

  for (const door of DOORS) {
    const client = `sender to ${door}`
    loop(() => sendAndLook(client, door, pick(mailboxes)))
  }
  for (const node of NODES) {
    loop(async (turn) => {
      const box = pick(mailboxes)
      await read('reader', node, box, byToken(box))
      await read('program', node, pick(keyed), byKey(large))
      await attack(node, box)
      if (turn % 5 === 0) await remove('reader', node, box, box)
      await pause(READER_PAUSE_MS)
    })
  }
  loop(async () => {
    await request('program', pick(DOORS), large)
    await request('stranger', pick(DOORS), pick(strangers), pick(mailboxes))
  })
  loop(async (turn) => {
    // Several at once for one address, and for what is left of a plan.
    const prefix = `race-${turn}`
    const clients = NODES.flatMap((node) => [node, node])
    const key = small[Math.floor(turn / TURNS_PER_KEY) % SMALL_KEYS]
    const options = turn % 3 === 0 ? { prefix, key: large } : { prefix }
    const [created] = await Promise.all([
      Promise.all(clients.map((node, at) => create(node, `${prefix}-${at}`, options))),
      ...clients.map((node) => key && request('racer', node, key)),
    ])
    for (const box of created) {
      if (!box) continue
      mailboxes.push(box)
      await sendAndLook('sender to a new address', pick(DOORS), box)
    }
    await pause(READER_PAUSE_MS)
  })
  loop(async () => {
    await watchLeases(cluster, history)
    await pause(500)
  })

  /** Throws unless there is a result in time; whether it is the right one shows in the history. */
  async function untilWorking<T>(what: string, attempt: () => Promise<T>): Promise<NonNullable<T>> {
    for (const end = history.now() + WORKING_MS; history.now() < end; await pause(500)) {
      const result = await attempt()
      if (result && result !== 'unknown') return result
    }
    throw new Error(`${what} does not work`)
  }

  const delivered = () =>
    history.entries.filter(
      (entry): entry is EntryOf<'delivery'> => entry.kind === 'delivery' && entry.result === 'done',
    )

  let addresses = 0
  async function checkDoor(door: Door): Promise<void> {
    const start = history.now()
    const box = await untilWorking(`create-session at ${door}`, () => {
      addresses += 1
      return create(door, `again-${addresses}`, { key: large })
    })
    await untilWorking(`SMTP at ${door}`, () => send('sender after a fault', door, box))
    for (const node of NODES)
      await untilWorking(`check-mail at ${node}`, () => list('last', node, box))
    const emails = async () => (await request('program', door, large)) === 'done'
    await untilWorking(`/emails at ${door}`, emails)
    // Not of this mail: it waits for all before it, which take long on a busy machine.
    await untilWorking('the webhook', async () => delivered().some((one) => one.start > start))
    mailboxes.push(box)
  }

  /** Every mailbox, also those created during faults, takes mail. */
  async function lastMails(node: Door, first: number): Promise<void> {
    const own = mailboxes.filter((_, at) => at % NODES.length === first)
    for (const box of own) await untilWorking(`SMTP at ${node}`, () => send('last', node, box))
    const [box] = own
    if (!box) return
    await list('last', node, box)
    await remove('last', node, box, box)
  }

  async function lastLooks(node: Door): Promise<void> {
    for (const box of mailboxes)
      await untilWorking(`check-mail at ${node}`, () => list('last', node, box))
    for (const box of mailboxes.slice(0, MAILBOXES)) await attack(node, box)
  }

  /** Until it is refused, so that it is known whether it would ever be. */
  async function useUp(key: LoadKey): Promise<void> {
    const everyNode = () => Promise.all(NODES.map((node) => request('racer', node, key)))
    for (let count = 0; count <= 2 * SMALL_PLAN; count += NODES.length)
      if ((await everyNode()).includes('refused')) return
  }

  return {
    history,
    surprises,
    secrets,
    /** To be called when everything is up again: throws unless every part of the service works in time, at every node. */
    async expectWorking(): Promise<void> {
      await Promise.all(DOORS.map(checkDoor))
    },
    /** Likewise: the last look at every mailbox, on every node. */
    async finish(): Promise<void> {
      stopping = true
      await Promise.all(loops)
      await Promise.all(looks)
      await Promise.all(NODES.map(lastMails))
      await Promise.all(NODES.map(lastLooks))
      for (const key of small) await useUp(key)
    },
    async waitForDeliveries(): Promise<void> {
      let count = -1
      let end = 0
      while (!isDelivered(history.entries)) {
        const now = new Set(delivered().map(({ mail }) => mail)).size
        if (now > count) end = history.now() + DELIVERY_MS
        if (history.now() >= end) break
        count = now
        await pause(1_000)
      }
    },
    async close(): Promise<void> {
      stopping = true
      await Promise.allSettled(loops)
      receiver.close()
    },
  }
}
