import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { NOW } from '../../../src/store/postgres/mail/leases.ts'
import type { KeyRing, TestKey } from '../shop/keys.ts'
import { waitUntil } from '../wait-until.ts'
import { type Load, startLoad } from './node-load.ts'
import {
  assertLogsClean,
  type Nodes,
  raceForAddress,
  raceForRequests,
  type StatusCounts,
} from './nodes.ts'

// Faults of a cluster under load, for nodes.test.ts and nodes-chaos.test.ts.

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
// Minimum time between two faults.
const MAILS = 45
const CLIENTS = 100
const REQUESTS = 20
/** Mailboxes never fill up, so every rejection is caused by a fault. */
export const ROOMY_MAILBOXES = {
  MAYFLY_SESSION_MAX_MESSAGES: '100000',
  MAYFLY_SESSION_MAX_BYTES: '10GB',
}

export interface FaultFixture {
  nodes: Nodes
  ring: KeyRing
}

export type Fault = readonly [name: string, inject: (fixture: FaultFixture) => Promise<unknown>]

/** Run one after the other. Together they kill every node. */
export const FAULTS: readonly Fault[] = [
  [
    'Redis, with its data, and two nodes crash',
    (fixture) => all(killRedis(fixture), killNode(fixture, 0), killNode(fixture, 1)),
  ],
  ['PostgreSQL and a node crash', (fixture) => all(killPostgres(fixture), killNode(fixture, 2))],
]

/** Mail acknowledged with 250 is stored unchanged and exactly once, visible on every node. */
export async function runFaults(
  fixture: FaultFixture,
  faults: readonly Fault[],
  rounds = 1,
): Promise<void> {
  const { nodes } = fixture
  const output = nodes.recordOutput()
  const firstSweeper = await sweeper(nodes)
  let total = await messageCount(nodes)
  for (let round = 1; round <= rounds; round += 1) {
    const load = await startLoad(nodes, { senders: 4, ownBoxes: 6, crowdedBoxes: 8 })
    for (const [at, [what, inject]] of faults.entries()) {
      await load.waitForMore(MAILS)
      await pause(Math.random() * 500)
      // A query just before the kill flushes pending writes to disk, so it is not made every time.
      const races = at % 2 === 0 ? await startRaces(fixture, `faults-${round}-${at}`) : undefined
      const before = performance.now()
      await inject(fixture)
      await races?.settle()
      const ms = Math.round(performance.now() - before)
      process.stdout.write(`${what}: over after ${ms} ms\n`)
    }
    total += await finishLoad(load, output)
  }
  expect(await messageCount(nodes), 'there is no mail anywhere else').toBe(total)
  // Every node was killed, and so was the one that swept. Its lease lasts to its end in the long run only.
  if (!LONG) await nodes.query(`update mail.lease set ends_at = 0 where holder = '${firstSweeper}'`)
  await waitUntil(async () => (await sweeper(nodes)) !== firstSweeper)
}

async function messageCount(nodes: Nodes): Promise<number> {
  const [row] = await nodes.query('select count(*) from mail.message')
  return Number(row?.['count'])
}

/** Returns the number of stored mails, including unacknowledged ones. */
async function finishLoad(load: Load, output: () => string): Promise<number> {
  const { lines, storedCount: total } = await load.finish()
  const { refused, checked: checkCount, checkedEverywhere } = load.tally
  const checks = `${checkCount} looks right after a 250`
  process.stdout.write(`${lines.length} mails acknowledged, ${refused} not; ${checks}\n`)
  expect(
    checkedEverywhere,
    `${checkedEverywhere} mails were looked for everywhere`,
  ).toBeGreaterThan(20)
  assertLogsClean(output(), [...load.sent.keys(), ...load.boxes.map(({ token }) => token)])
  return total
}

/** The holder of the unexpired lease. */
async function sweeper(nodes: Nodes): Promise<unknown> {
  const lease = `select holder from mail.lease where name = 'sweep' and ends_at > ${NOW}`
  let holder: unknown
  await waitUntil(async () => {
    const [row] = await nodes.query(lease)
    holder = row?.['holder']
    return row
  })
  return holder
}

/** During the faults, clients compete for one address and for more requests than a key has left. */
async function startRaces({ nodes, ring }: FaultFixture, name: string) {
  const key: TestKey = await ring.issue({ requests: REQUESTS })
  const races = Promise.all([
    raceForAddress(nodes.urls, name, CLIENTS),
    raceForRequests(nodes.urls, key, CLIENTS),
  ])
  return {
    async settle(): Promise<void> {
      const [address, requests] = await races
      for (const counts of [address, requests]) assertAllowed(counts)
      const { 200: winners = 0 } = address
      expect(winners, `${winners} have the same address`).toBeLessThanOrEqual(1)
      if (unanswered(address) === 0) expect(winners).toBe(1)
      assertWithinQuota((await ring.used(key)) ?? 0, requests)
    },
  }
}

function assertWithinQuota(used: number, counts: StatusCounts): void {
  const { 200: served = 0 } = counts
  expect(
    served <= used && used <= REQUESTS,
    `${served} were served, ${used} are counted`,
  ).toBeTruthy()
  expect(used - served, 'only what was not answered is lost').toBeLessThanOrEqual(
    unanswered(counts),
  )
  if (unanswered(counts) === 0) expect(served).toBe(REQUESTS)
}

/** 0 is a connection that was refused or closed. */
function assertAllowed(counts: StatusCounts): void {
  const allowed = ['0', '200', '402', '409', '503']
  expect(Object.keys(counts).filter((status) => !allowed.includes(status))).toStrictEqual([])
}

function unanswered({ 0: closed = 0, 503: unavailable = 0 }: StatusCounts): number {
  return closed + unavailable
}

export async function killNode(
  { nodes }: Pick<FaultFixture, 'nodes'>,
  number: number,
): Promise<void> {
  await nodes.kill(number)
  await nodes.restart(number)
}

export async function killPostgres({ nodes }: Pick<FaultFixture, 'nodes'>): Promise<void> {
  await nodes.postgres().stop('SIGQUIT')
  await pause(500 + Math.random() * 500)
  await nodes.postgres().start()
}

export async function killRedis({ nodes }: Pick<FaultFixture, 'nodes'>): Promise<void> {
  await nodes.redis().stop()
  await pause(500 + Math.random() * 500)
  await nodes.redis().start()
}

export const all = (...faults: Promise<void>[]) => Promise.all(faults)
