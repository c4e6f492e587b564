import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { senderNetwork } from '../../core/ip.ts'
import { isSharedMailbox, type MailboxId, OPERATOR, POOL } from '../../core/session.ts'
import { DAY, type Fixture, HOUR, START } from './fixture.ts'

const SENDERS = ['192.0.2.1', '::ffff:192.0.2.1', '2001:db8:5::1', '2001:db8:5:6::2', undefined]
const ADDRESSES = [
  'a@pool.test',
  'b@pool.test',
  'abuse@box.test',
  'postmaster@pool.test',
  's@box.test',
]

const any = fc.nat({ max: 1_000 })

export const operations = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      sender: fc.constantFrom(...SENDERS),
      to: fc.uniqueArray(fc.constantFrom(...ADDRESSES), { minLength: 1 }),
      size: fc.constantFrom(1, 500, 9_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), which: any }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('delete-several' as const),
      mailbox: fc.constantFrom(POOL, OPERATOR),
      // Some are drawn twice.
      which: fc.array(any, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      ms: fc.constantFrom(1, HOUR, DAY, 29 * DAY, -HOUR),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('sweep' as const) }) },
)

type Operation = typeof operations extends fc.Arbitrary<infer T> ? T : never
type Query = (sql: string) => Promise<Record<string, unknown>[]>

interface Kept {
  mailbox: MailboxId
  network: string | undefined
  subject: string
  receivedAt: number
}

const LIFE = new Map([
  [POOL, DAY],
  [OPERATOR, 30 * DAY],
])

interface Model {
  now: number
  kept: Kept[]
}

/** Runs the operations beside a plain list of messages, and compares rows, list and messages after each. */
export async function runOperations(
  fixture: Fixture,
  list: readonly Operation[],
  query: Query,
): Promise<void> {
  await fixture.session('s@box.test', 90 * DAY)
  const model: Model = { now: START.getTime(), kept: [] }
  for (const operation of list) {
    await run(fixture, model, operation)
    await audit(query, model.kept)
  }
}

async function run(fixture: Fixture, model: Model, operation: Operation): Promise<void> {
  if (operation.kind === 'advance') model.now += operation.ms
  else if (operation.kind === 'send') await send(fixture, model, operation)
  else if (operation.kind === 'sweep') {
    await fixture.sweepAll(new Date(model.now))
    const isDue = (one: Kept) => one.receivedAt <= model.now - (LIFE.get(one.mailbox) ?? 0)
    model.kept = model.kept.filter((one) => !isDue(one))
  } else if (operation.kind === 'delete-several') {
    const { mailbox, which } = operation
    const there = model.kept.filter((one) => one.mailbox === mailbox)
    const drawn = which.flatMap((index) => there[index % there.length] ?? [])
    const ids = await Promise.all(drawn.map((one) => findId(fixture, one)))
    // By id: two recipients of one mail are found under the same one.
    const gone = new Set(new Map(drawn.map((one, index) => [ids[index], one])).values())
    const { messages } = await fixture.other.deleteMessages(mailbox, [...ids, ...ids.slice(0, 1)])
    assert.equal(messages, gone.size)
    model.kept = model.kept.filter((one) => !gone.has(one))
  } else {
    const one = model.kept[operation.which % model.kept.length]
    if (one) {
      assert.equal(await fixture.other.deleteMessage(one.mailbox, await findId(fixture, one)), true)
    }
    model.kept = model.kept.filter((other) => other !== one)
  }
}

async function send(
  fixture: Fixture,
  { now, kept }: Model,
  { sender, to, size }: Extract<Operation, { kind: 'send' }>,
): Promise<void> {
  const network = sender === undefined ? undefined : senderNetwork(sender)
  const subject = randomBytes(9).toString('hex')
  const result = await fixture.send(to, {
    senderNetwork: network,
    head: { senderName: '', senderEmail: '', subject },
    raw: new Uint8Array(randomBytes(size)),
    receivedAt: new Date(now),
  })
  if (result.outcome !== 'kept') return
  const shared = result.recipients.filter(({ mailbox }) => isSharedMailbox(mailbox))
  kept.push(...shared.map(({ mailbox }) => ({ mailbox, network, subject, receivedAt: now })))
}

async function findId(fixture: Fixture, { mailbox, subject }: Kept): Promise<number> {
  const found = await fixture.store.listMessages(mailbox, { sinceId: 0, limit: 500 })
  return found.find((message) => message.subject === subject)?.id ?? 0
}

/** Checks that the counters equal the sums of the messages, and those of the model `kept`, if there is one. */
export async function audit(query: Query, kept?: readonly Kept[]): Promise<void> {
  const numbers = async (sql: string) =>
    (await query(sql)).map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          name === 'sender_network' ? value : Number(value),
        ]),
      ),
    )
  const shares = await numbers(
    'select sender_network, mailbox, count, bytes from {mail}sender_share order by 1, 2',
  )
  assert.deepEqual(
    shares,
    await numbers(
      `select sender_network, mailbox, count(*) as count, sum(coalesce(stored, size)) as bytes
       from {mail}message as message join {mail}shared_mailbox as box on box.id = mailbox
       where sender_network is not null and {there} group by 1, 2 order by 1, 2`,
    ),
  )
  assert.deepEqual(
    await numbers('select id, count, bytes from {mail}shared_mailbox order by id'),
    await numbers(
      `select box.id, count(message.id) as count, coalesce(sum(coalesce(stored, size)), 0) as bytes
       from {mail}shared_mailbox as box
       left join {mail}message as message on mailbox = box.id and {there}
       group by box.id order by box.id`,
    ),
  )
  if (!kept) return
  const counts = Map.groupBy(
    kept.filter(({ network }) => network !== undefined),
    ({ network, mailbox }) => `${network} ${mailbox} `,
  )
  assert.deepEqual(
    shares.map(({ sender_network, mailbox, count }) => `${sender_network} ${mailbox} ${count}`),
    [...counts].map(([name, { length }]) => `${name}${length}`).sort(),
  )
}
