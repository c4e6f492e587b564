import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect } from 'vitest'
import { senderNetwork } from '../../../src/base/ip.ts'
import { isSharedMailbox, type MailboxId, OPERATOR, POOL } from '../../../src/mail/rules/session.ts'
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
      // May select the same message twice.
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

interface StoredMessage {
  mailbox: MailboxId
  network: string | undefined
  subject: string
  receivedAt: number
}

const RETENTION_MS = new Map([
  [POOL, DAY],
  [OPERATOR, 30 * DAY],
])

interface Model {
  now: number
  stored: StoredMessage[]
}

/** Runs the operations against the store and a list of messages, and compares counters, list and messages after each. */
export async function runOperations(
  fixture: Fixture,
  sequence: readonly Operation[],
  query: Query,
): Promise<void> {
  await fixture.session('s@box.test', 90 * DAY)
  const model: Model = { now: START.getTime(), stored: [] }
  for (const operation of sequence) {
    await run(fixture, model, operation)
    await audit(query, model.stored)
  }
}

async function run(fixture: Fixture, model: Model, operation: Operation): Promise<void> {
  if (operation.kind === 'advance') model.now += operation.ms
  else if (operation.kind === 'send') await send(fixture, model, operation)
  else if (operation.kind === 'sweep') {
    await fixture.sweepAll(new Date(model.now))
    const isDue = (message: StoredMessage) =>
      message.receivedAt <= model.now - (RETENTION_MS.get(message.mailbox) ?? 0)
    model.stored = model.stored.filter((message) => !isDue(message))
  } else if (operation.kind === 'delete-several') {
    const { mailbox, which } = operation
    const existing = model.stored.filter((message) => message.mailbox === mailbox)
    const selected = which.flatMap((index) => existing[index % existing.length] ?? [])
    const ids = await Promise.all(selected.map((message) => findId(fixture, message)))
    // By id: two recipients of one mail share a subject, and findId returns the same message.
    const deleted = new Set(
      new Map(selected.map((message, index) => [ids[index], message])).values(),
    )
    const { messages } = await fixture.other.deleteMessages(mailbox, [...ids, ...ids.slice(0, 1)])
    expect(messages).toBe(deleted.size)
    model.stored = model.stored.filter((message) => !deleted.has(message))
  } else {
    const message = model.stored[operation.which % model.stored.length]
    if (message) {
      expect(
        (await fixture.other.deleteMessages(message.mailbox, [await findId(fixture, message)]))
          .messages,
      ).toBe(1)
    }
    model.stored = model.stored.filter((other) => other !== message)
  }
}

async function send(
  fixture: Fixture,
  { now, stored }: Model,
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
  if (result.outcome !== 'stored') return
  const shared = result.recipients.filter(({ mailbox }) => isSharedMailbox(mailbox))
  stored.push(...shared.map(({ mailbox }) => ({ mailbox, network, subject, receivedAt: now })))
}

async function findId(fixture: Fixture, { mailbox, subject }: StoredMessage): Promise<number> {
  const found = await fixture.store.listMessages(mailbox, { sinceId: 0, limit: 500 })
  return found.find((message) => message.subject === subject)?.id ?? 0
}

/** Checks that the counters equal the sums of the messages, and the counts of the model, if there is one. */
export async function audit(query: Query, stored?: readonly StoredMessage[]): Promise<void> {
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
  expect(shares).toStrictEqual(
    await numbers(
      `select sender_network, mailbox, count(*) as count, sum(coalesce(stored, size)) as bytes
       from {mail}message
       where sender_network is not null group by 1, 2 order by 1, 2`,
    ),
  )
  expect(
    await numbers('select id, count, bytes from {mail}shared_mailbox order by id'),
  ).toStrictEqual(
    await numbers(
      `select box.id, count(message.id) as count, coalesce(sum(coalesce(stored, size)), 0) as bytes
       from {mail}shared_mailbox as box
       left join {mail}message as message on mailbox = box.id
       group by box.id order by box.id`,
    ),
  )
  if (!stored) return
  const counts = Map.groupBy(
    stored.filter(({ network }) => network !== undefined),
    ({ network, mailbox }) => `${network} ${mailbox} `,
  )
  expect(
    shares.map(({ sender_network, mailbox, count }) => `${sender_network} ${mailbox} ${count}`),
  ).toStrictEqual([...counts].map(([name, { length }]) => `${name}${length}`).sort())
}
