import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type MailboxId, POOL } from '../../core/session.ts'
import type { KeyScope } from '../store.ts'
import {
  address,
  COOLDOWN,
  DAY,
  type Fixture,
  HOUR,
  head,
  MINUTE,
  newSession,
  START,
} from './fixture.ts'

const ADDRESSES = ['a@pool.test', 'b@pool.test', 'c@pool.test', 'd@box.test', 'e@box.test']
const KEYS = ['key-one', 'key-two'] as const
const LIVES = [MINUTE, HOUR, DAY]
const GRACE = MINUTE

const any = fc.nat({ max: 1_000 })

/** What can happen in a store; numbers select among the existing objects. */
export const actions = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('send' as const), to: fc.array(any) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      at: any,
      key: fc.constantFrom(...KEYS, undefined),
      life: fc.constantFrom(...LIVES),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('move' as const),
      ms: fc.constantFrom(1, MINUTE, HOUR, DAY, COOLDOWN, -1, -MINUTE, -2 * HOUR),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), which: any }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('end' as const, 'extend' as const, 'revive' as const),
      which: any,
      life: fc.constantFrom(...LIVES),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('sweep' as const) }) },
)

type Operation = typeof actions extends fc.Arbitrary<infer D> ? D : never

interface Sent {
  subject: string
  to: string
  mailbox: MailboxId
  receivedAt: number
}

interface Made {
  mailbox: MailboxId
  key: string | undefined
  address: string
  expiresAt: number
  /** Ended by its owner, or revived into another mailbox. */
  over: boolean
}

/** Runs the actions against the store and a model of plain lists, and compares what every key sees after each. */
export async function playActions(fixture: Fixture, told: readonly Operation[]): Promise<void> {
  const book = { now: START.getTime(), sent: [] as Sent[], made: [] as Made[], count: 0 }
  const known = new Map<string, string>()
  for (const operation of told) {
    await doOne(fixture, book, operation)
    for (const scope of scopesAt(new Date(book.now))) {
      const mark = await fixture.other.keyMailVersion(scope)
      const page = { sinceId: 0, beforeId: undefined, limit: 1_000 }
      const found = await fixture.other.listKeyMail(scope, page)
      const texts = found.map(({ subject, recipient }) => `${subject} for ${recipient}`)
      assert.deepEqual(texts, expected(book, scope), JSON.stringify(scope))
      const ids = JSON.stringify(found.map(({ id }) => id))
      assert.equal(known.get(mark) ?? ids, ids, `the mark ${mark} stood for other mail before`)
      known.set(mark, ids)
    }
  }
}

type Book = { now: number; sent: Sent[]; made: Made[]; count: number }

function scopesAt(now: Date): KeyScope[] {
  const tos = [undefined, ...ADDRESSES.map(address)]
  return KEYS.flatMap((keyId) =>
    [true, false].flatMap((pool) => tos.map((to) => ({ keyId, pool, to, now }))),
  )
}

/** Newest first, by the order in which it was sent. */
function expected({ now, sent, made }: Book, { keyId, pool, to }: KeyScope): string[] {
  const own = made.filter(({ key, expiresAt, over }) => key === keyId && expiresAt > now && !over)
  const boxes = new Set([...own.map(({ mailbox }) => mailbox), ...(pool ? [POOL] : [])])
  return sent
    .filter((one) => boxes.has(one.mailbox) && (to === undefined || one.to === to))
    .map((one) => `${one.subject} for ${one.to}`)
    .toReversed()
}

async function doOne(fixture: Fixture, book: Book, operation: Operation): Promise<void> {
  const now = new Date(book.now)
  book.count += 1
  if (operation.kind === 'move') book.now += operation.ms
  else if (operation.kind === 'send') await send(fixture, book, operation.to)
  else if (operation.kind === 'create') {
    const text = ADDRESSES[operation.at % ADDRESSES.length] ?? ''
    const wish = { tokenHash: `token ${book.count}`, createdAt: now, lifeMs: operation.life }
    note(
      book,
      await fixture.store.createSession(newSession(text, { ...wish, keyId: operation.key })),
    )
  } else if (operation.kind === 'delete') {
    const one = book.sent[operation.which % book.sent.length]
    if (one) await remove(fixture, book, one)
  } else if (operation.kind === 'sweep') {
    await fixture.sweepAll(now)
    const isSwept = ({ mailbox, receivedAt }: Sent) =>
      mailbox === POOL
        ? receivedAt <= book.now - DAY
        : book.made.some((one) => one.mailbox === mailbox && one.expiresAt <= book.now - GRACE)
    book.sent = book.sent.filter((one) => !isSwept(one))
  } else {
    const one = book.made[operation.which % book.made.length]
    if (one) await change(fixture, book, { ...operation, one })
  }
}

async function send(fixture: Fixture, book: Book, choices: number[]): Promise<void> {
  const to = [
    ...new Set([0, ...choices].map((choice) => ADDRESSES[choice % ADDRESSES.length] ?? '')),
  ]
  const subject = `mail ${book.count}`
  const receivedAt = new Date(book.now)
  const kept = await fixture.send(to, { head: head(subject), receivedAt })
  if (kept.outcome !== 'kept') return
  for (const { address: at, mailbox, keyId } of kept.recipients) {
    book.sent.push({ subject, to: at, mailbox, receivedAt: book.now })
    assert.equal(keyId, book.made.find((one) => one.mailbox === mailbox)?.key)
  }
}

async function remove(fixture: Fixture, book: Book, one: Sent): Promise<void> {
  for (const id of await fixture.store.listMessageIds(one.mailbox)) {
    const message = await fixture.store.findMessage(one.mailbox, id)
    if (message?.subject !== one.subject || message.recipient !== one.to) continue
    assert.equal(await fixture.store.deleteMessage(one.mailbox, id), true)
    book.sent = book.sent.filter((other) => other !== one)
  }
}

async function change(
  { store }: Fixture,
  book: Book,
  { kind, one, life }: { kind: 'end' | 'extend' | 'revive'; one: Made; life: number },
): Promise<void> {
  const { mailbox } = one
  const [now, expiresAt] = [new Date(book.now), new Date(book.now + life)]
  if (kind === 'end') {
    one.over ||= await store.endSession(mailbox, now)
  } else if (kind === 'extend') {
    const extended = await store.extendSession(mailbox, expiresAt, now)
    one.expiresAt = extended?.expiresAt.getTime() ?? one.expiresAt
  } else {
    const wish = { mailbox, now, expiresAt, cooldownMs: COOLDOWN }
    const revived = await store.reviveSession(wish)
    one.over ||= revived !== undefined
    note(book, revived)
  }
}

/** Ends the previous session of the address. */
function note(book: Book, session: Awaited<ReturnType<Fixture['store']['createSession']>>): void {
  if (!session) return
  const { id: mailbox, address: at, keyId: key, expiresAt } = session
  for (const former of book.made) former.over ||= former.address === at
  book.made.push({ mailbox, key, address: at, expiresAt: expiresAt.getTime(), over: false })
}
