import fc from 'fast-check'
import { expect } from 'vitest'
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
} from '../../../test/kit/store/fixture.ts'
import { type MailboxId, POOL } from '../../mail/rules/session.ts'
import type { KeyScope } from '../../mail/store.ts'

const ADDRESSES = ['a@pool.test', 'b@pool.test', 'c@pool.test', 'd@box.test', 'e@box.test']
const KEYS = ['key-one', 'key-two'] as const
const LIFETIMES = [MINUTE, HOUR, DAY]
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
      life: fc.constantFrom(...LIFETIMES),
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
      life: fc.constantFrom(...LIFETIMES),
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

interface CreatedSession {
  mailbox: MailboxId
  key: string | undefined
  address: string
  expiresAt: number
  /** Ended by its owner, or revived into another mailbox. */
  ended: boolean
}

/** Runs the actions against the store and a model of plain lists, and compares what every key sees after each. */
export async function playActions(
  fixture: Fixture,
  operations: readonly Operation[],
): Promise<void> {
  const model = {
    now: START.getTime(),
    sent: [] as Sent[],
    sessions: [] as CreatedSession[],
    count: 0,
  }
  const idsByVersion = new Map<string, string>()
  for (const operation of operations) {
    await runOperation(fixture, model, operation)
    for (const scope of scopesAt(new Date(model.now))) {
      const version = await fixture.other.keyMailVersion(scope)
      const page = { sinceId: 0, beforeId: undefined, limit: 1_000 }
      const found = await fixture.other.listKeyMail(scope, page)
      const texts = found.map(({ subject, recipient }) => `${subject} for ${recipient}`)
      expect(texts, JSON.stringify(scope)).toStrictEqual(expected(model, scope))
      const oldestFirst = await fixture.other.listKeyMail(scope, { ...page, oldestFirst: true })
      expect(oldestFirst).toStrictEqual(found.toReversed())
      const ids = JSON.stringify(found.map(({ id }) => id))
      expect(
        idsByVersion.get(version) ?? ids,
        `the version ${version} stood for other mail before`,
      ).toBe(ids)
      idsByVersion.set(version, ids)
    }
  }
}

type Model = { now: number; sent: Sent[]; sessions: CreatedSession[]; count: number }

function scopesAt(now: Date): KeyScope[] {
  const tos = [undefined, ...ADDRESSES.map(address)]
  return KEYS.flatMap((keyId) =>
    [true, false].flatMap((pool) => tos.map((to) => ({ keyId, pool, to, now }))),
  )
}

/** Newest first, in the order of sending. */
function expected({ now, sent, sessions }: Model, { keyId, pool, to }: KeyScope): string[] {
  const own = sessions.filter(
    ({ key, expiresAt, ended }) => key === keyId && expiresAt > now && !ended,
  )
  const boxes = new Set([...own.map(({ mailbox }) => mailbox), ...(pool ? [POOL] : [])])
  return sent
    .filter((one) => boxes.has(one.mailbox) && (to === undefined || one.to === to))
    .map((one) => `${one.subject} for ${one.to}`)
    .toReversed()
}

async function runOperation(fixture: Fixture, model: Model, operation: Operation): Promise<void> {
  const now = new Date(model.now)
  model.count += 1
  if (operation.kind === 'move') model.now += operation.ms
  else if (operation.kind === 'send') await send(fixture, model, operation.to)
  else if (operation.kind === 'create') {
    const text = ADDRESSES[operation.at % ADDRESSES.length] ?? ''
    const options = { tokenHash: `token ${model.count}`, createdAt: now, lifeMs: operation.life }
    recordSession(
      model,
      await fixture.store.createSession(newSession(text, { ...options, keyId: operation.key })),
    )
  } else if (operation.kind === 'delete') {
    const one = model.sent[operation.which % model.sent.length]
    if (one) await remove(fixture, model, one)
  } else if (operation.kind === 'sweep') {
    await fixture.sweepAll(now)
    const isSwept = ({ mailbox, receivedAt }: Sent) =>
      mailbox === POOL
        ? receivedAt <= model.now - DAY
        : model.sessions.some(
            (one) => one.mailbox === mailbox && one.expiresAt <= model.now - GRACE,
          )
    model.sent = model.sent.filter((one) => !isSwept(one))
  } else {
    const one = model.sessions[operation.which % model.sessions.length]
    if (one) await change(fixture, model, { ...operation, one })
  }
}

async function send(fixture: Fixture, model: Model, choices: number[]): Promise<void> {
  const to = [
    ...new Set([0, ...choices].map((choice) => ADDRESSES[choice % ADDRESSES.length] ?? '')),
  ]
  const subject = `mail ${model.count}`
  const receivedAt = new Date(model.now)
  const result = await fixture.send(to, { head: head(subject), receivedAt })
  if (result.outcome !== 'stored') return
  for (const { address: at, mailbox, keyId } of result.recipients) {
    model.sent.push({ subject, to: at, mailbox, receivedAt: model.now })
    expect(keyId).toBe(model.sessions.find((one) => one.mailbox === mailbox)?.key)
  }
}

async function remove(fixture: Fixture, model: Model, one: Sent): Promise<void> {
  for (const id of await fixture.store.listMessageIds(one.mailbox)) {
    const message = await fixture.store.findMessage(one.mailbox, id)
    if (message?.subject !== one.subject || message.recipient !== one.to) continue
    expect((await fixture.store.deleteMessages(one.mailbox, [id])).messages).toBe(1)
    model.sent = model.sent.filter((other) => other !== one)
  }
}

async function change(
  { store }: Fixture,
  model: Model,
  { kind, one, life }: { kind: 'end' | 'extend' | 'revive'; one: CreatedSession; life: number },
): Promise<void> {
  const { mailbox } = one
  const [now, expiresAt] = [new Date(model.now), new Date(model.now + life)]
  if (kind === 'end') {
    one.ended ||= await store.endSession(mailbox, now)
  } else if (kind === 'extend') {
    const extended = await store.extendSession(mailbox, expiresAt, now)
    one.expiresAt = extended?.expiresAt.getTime() ?? one.expiresAt
  } else {
    const options = { mailbox, now, expiresAt, cooldownMs: COOLDOWN }
    const revived = await store.reviveSession(options)
    one.ended ||= revived !== undefined
    recordSession(model, revived)
  }
}

/** Records the session, and ends the previous one of its address. */
function recordSession(
  model: Model,
  session: Awaited<ReturnType<Fixture['store']['createSession']>>,
): void {
  if (!session) return
  const { id: mailbox, address: at, keyId: key, expiresAt } = session
  for (const previous of model.sessions) previous.ended ||= previous.address === at
  model.sessions.push({ mailbox, key, address: at, expiresAt: expiresAt.getTime(), ended: false })
}
