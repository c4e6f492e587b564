import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type GmailFixture, openGmailFixture, rules } from '../../test/kit/gmail/gmail.ts'
import { superviseAccounts } from './jobs.ts'

const JOE = 'joe@gmail.com'
const ANN = 'ann@gmail.com'
const TIMING = {
  ttlMs: 60_000,
  renewMs: 50,
  stopMarginMs: 1_000,
  retryMs: 20,
  stopTimeoutMs: 1_000,
  refreshMs: 50,
  staggerMs: 20,
}
const failOnError = {
  warn() {},
  error: (facts: Record<string, unknown>, sentence: string) =>
    expect.fail(`${sentence}: ${facts['err']}`),
}

let fixture: GmailFixture
let ended: AbortController
let supervision: Promise<void>
/** In the order in which they happened. */
let actions: string[]
let slow: PromiseWithResolvers<void>
const holders = new Map<string, string>()
beforeEach(async () => {
  fixture = await openGmailFixture(rules(JOE), rules(ANN))
  ended = new AbortController()
  actions = []
  slow = Promise.withResolvers()
  const { store } = fixture.deps
  supervision = superviseAccounts({
    ...fixture.deps,
    store: {
      ...store,
      acquireLease(lease) {
        holders.set(lease.name, lease.holder)
        return store.acquireLease(lease)
      },
    },
    open({ email }) {
      actions.push(`open ${email}`)
      return {
        async close() {
          if (email === JOE) await slow.promise
          actions.push(`close ${email}`)
        },
      }
    },
    ended: ended.signal,
    timing: TIMING,
    log: failOnError,
  })
})
afterEach(async () => {
  slow.resolve()
  ended.abort()
  await supervision
  await fixture.close()
})

const setActive = async (email: string, active: boolean) =>
  fixture.deps.store.setAccountActive(await fixture.idOf(email), active)
const until = async (operation: string, times = 1) => {
  while (actions.filter((action) => action === operation).length < times) await pause(5)
}

test('an account that closes slowly does not delay others, and is not opened twice', async () => {
  await until(`open ${ANN}`)
  await setActive(JOE, false)
  await setActive(ANN, false)
  await until(`close ${ANN}`)
  await setActive(JOE, true)
  await setActive(ANN, true)
  await until(`open ${ANN}`, 2)
  expect(actions.filter((operation) => operation === `open ${JOE}`).length).toBe(1)
  slow.resolve()
  await until(`open ${JOE}`, 2)
})

test('shutdown closes all accounts', async () => {
  await until(`open ${ANN}`)
  slow.resolve()
  ended.abort()
  await supervision
  expect(actions.toSorted()).toStrictEqual([
    `close ${ANN}`,
    `close ${JOE}`,
    `open ${ANN}`,
    `open ${JOE}`,
  ])
})

test('an account whose lease is lost is closed, and reopened once it is closed and the lease is held again', async () => {
  await until(`open ${ANN}`)
  const leases = [await fixture.idOf(JOE), await fixture.idOf(ANN)].map((id) => `account ${id}`)
  for (const name of leases) await steal(name)
  await until(`close ${ANN}`)
  expect(actions).toStrictEqual([`open ${JOE}`, `open ${ANN}`, `close ${ANN}`])
  for (const name of leases) await fixture.other.releaseLease(name, 'them')
  await until(`open ${ANN}`, 2)
  expect(actions.filter((operation) => operation === `open ${JOE}`).length).toBe(1)
  slow.resolve()
  await until(`open ${JOE}`, 2)
})

const steal = async (name: string) => {
  const lease = { name, holder: 'them', ms: 60_000 }
  // Our node may renew it between the two calls.
  do await fixture.other.releaseLease(name, holders.get(name) ?? '')
  while (!(await fixture.other.acquireLease(lease)))
}

test('nodes that start together share the accounts, and a single node has all of them', async () => {
  const emails = Array.from({ length: 8 }, (_, at) => `joe${at}@gmail.com`)
  const shared = await openGmailFixture(...emails.map((email) => rules(email)))
  const nodes = ['one', 'two'].map(() => {
    const opened = new Set<string>()
    const end = new AbortController()
    const done = superviseAccounts({
      ...shared.deps,
      open({ email }) {
        opened.add(email)
        return {
          async close() {
            opened.delete(email)
          },
        }
      },
      ended: end.signal,
      timing: TIMING,
      log: failOnError,
    })
    const stop = async () => {
      end.abort()
      await done
    }
    return { opened, stop }
  })
  const openAccounts = () => nodes.flatMap(({ opened }) => [...opened])
  while (openAccounts().length < 8) await pause(5)
  expect(openAccounts().toSorted()).toStrictEqual(emails)
  for (const { opened } of nodes)
    expect(opened.size, `a node has ${opened.size} of 8 accounts`).toBeGreaterThanOrEqual(2)

  await nodes[0]?.stop()
  while (nodes[1]?.opened.size !== 8) await pause(5)
  await nodes[1]?.stop()
  await shared.close()
})

test('a failure to open an account is logged and retried, and its lease is released meanwhile', async () => {
  ended.abort()
  slow.resolve()
  await supervision
  const end = new AbortController()
  const logged: string[] = []
  let tries = 0
  const done = superviseAccounts({
    ...fixture.deps,
    open({ email }) {
      if (email === ANN) return { close: async () => {} }
      tries += 1
      throw new Error('no such setting')
    },
    ended: end.signal,
    timing: TIMING,
    log: { warn() {}, error: (_facts, sentence) => logged.push(sentence) },
  })
  while (tries < 2) await pause(5)
  end.abort()
  await done
  expect(new Set(logged)).toStrictEqual(new Set(['a task under a lease failed; retrying']))
  const lease = { name: `account ${await fixture.idOf(JOE)}`, holder: 'them', ms: 1 }
  expect(await fixture.other.acquireLease(lease)).toBe(true)
})
