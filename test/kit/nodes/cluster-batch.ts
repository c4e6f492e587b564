import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { waitUntil } from '../wait-until.ts'
import { checkHistory, type Violation } from './check-history.ts'
import { type Cluster, openCluster } from './cluster.ts'
import { CLUSTER_FAULTS } from './cluster-faults.ts'
import { startClusterLoad } from './cluster-load.ts'
import type { Entry } from './history.ts'

interface BatchOptions {
  count: number
  seed: number
  report(text: string): void
  /** Only these kinds of faults. */
  kinds?: readonly string[] | undefined
  /** The root folder of an older version that may run beside this one. */
  older?: string | undefined
}

const OLDER = 'node restarted with an older version'

/** A new cluster under load, some faults, of which some overlap, and the check of what its clients recorded. */
export async function runClusterBatch(options: BatchOptions) {
  const { count, seed, report, older } = options
  const random = seededRandom(seed)
  report('starting the cluster')
  const cluster = await openCluster()
  try {
    const load = await startClusterLoad(cluster, random)
    const { history } = load
    const { kinds = Object.keys(CLUSTER_FAULTS) } = options
    const deck = kinds.filter((kind) => older !== undefined || kind !== OLDER)
    const done: Promise<unknown>[] = []
    const log: string[] = []
    for (let number = 0; number < count; number += 1) {
      await pause(2_000 + random() * 6_000)
      const kind = drawFrom(deck, seed + number)
      const inject = CLUSTER_FAULTS[kind]
      if (!inject) throw new Error(`unknown kind of fault: ${kind}`)
      report(`fault ${number + 1} of ${count}: ${kind}`)
      const start = history.now()
      const fault = inject({ cluster, history, random, older }).catch((error) => `failed: ${error}`)
      const note = (what: string) =>
        log.push(`${kind} (${what}) from ${Math.round(start)} to ${Math.round(history.now())} ms`)
      done.push(fault.then(note))
      // Every second one begins while its predecessor lasts.
      if (number % 2 === 1) await Promise.all(done)
    }
    await Promise.all(done)
    report('recovering')
    const found = await recoverAndFinish(cluster, load)
    await load.close()
    report('checking')
    const findings = [
      ...found,
      ...log.filter((entry) => entry.includes('(failed: ')),
      ...summaryOf(checkHistory(history.entries)),
      ...[...load.surprises].map((one) => `unexpected: ${one}`),
    ].map((one) => `${one} (seed ${seed}: ${log.join('; ')})`)
    if (findings.length > 0) saveEvidence(history.entries, cluster.output(), seed)
    return {
      counts: countOf(history.entries),
      figures: { 'kinds of faults': deck.length },
      findings,
    }
  } finally {
    await cluster.close()
  }
}

/** One sentence per rule: a lost primary is hundreds of violations. */
function summaryOf(violations: readonly Violation[]): string[] {
  return [...Map.groupBy(violations, ({ rule }) => rule)].map(([rule, all]) => {
    const [first] = all
    return `${all.length} times ${rule}, such as ${first?.subject}: ${first?.detail}`
  })
}

async function recoverAndFinish(
  cluster: Cluster,
  load: { finish(): Promise<void> },
): Promise<string[]> {
  try {
    await cluster.recover()
    // It works again, too.
    await pause(5_000)
    await load.finish()
    return []
  } catch (error) {
    return [`the cluster did not recover: ${error}\n${cluster.output().slice(-3_000)}`]
  }
}

/** For a look at what led to a finding. */
function saveEvidence(entries: readonly Entry[], output: string, seed: number): void {
  const lines = entries.map((entry) => JSON.stringify(entry))
  const path = join(tmpdir(), `mayfly-cluster-${seed}`)
  writeFileSync(`${path}.jsonl`, `${lines.join('\n')}\n`)
  writeFileSync(`${path}.log`, output)
}

function countOf(entries: readonly Entry[]): Record<string, number> {
  const of = (kind: Entry['kind'], result: Entry['result'] = 'done') =>
    entries.filter((entry) => entry.kind === kind && entry.result === result).length
  const foreign = entries.filter(
    (entry) =>
      (entry.kind === 'list' || entry.kind === 'read' || entry.kind === 'delete') &&
      entry.holder !== entry.session,
  )
  return {
    'acknowledged mails': of('send'),
    'mails without a reply': of('send', 'unknown'),
    'lists checked': of('list'),
    'foreign attempts': foreign.length,
    'addresses created': of('create'),
    'requests with keys': of('request'),
    'webhook deliveries': of('delivery'),
    'leases seen': of('lease'),
  }
}

/** Each kind comes once before one comes again, in an order of chance. */
function drawFrom(deck: readonly string[], number: number): string {
  const random = seededRandom(Math.floor(number / deck.length))
  const ranks = new Map(deck.map((kind) => [kind, random()]))
  const shuffled = deck.toSorted((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0))
  return shuffled[number % deck.length] ?? ''
}

/**
 * The control: without synchronous replication, mail that the standby lacks is lost with the primary, and the history shows it.
 * Returns what was not found.
 */
export async function runClusterControl(report: (text: string) => void): Promise<string[]> {
  report('control: a standby that is not synchronous')
  const cluster = await openCluster({ synchronous: false })
  try {
    const load = await startClusterLoad(cluster, seededRandom(0))
    const primary = (await cluster.primary()) ?? 'postgres1'
    const standby = primary === 'postgres1' ? 'postgres2' : 'postgres1'
    const { machines } = cluster
    const end = machines[primary].filter({ peers: [machines[standby].address] })
    await pause(6_000)
    machines[primary].kill()
    end()
    await waitUntil(async () => (await cluster.primary()) === standby)
    await cluster.recover()
    await load.finish()
    await load.close()
    const isFound = checkHistory(load.history.entries).some(({ rule }) => rule === 'lost')
    return isFound ? [] : ['control: the loss of mail was not detected']
  } finally {
    await cluster.close()
  }
}

/** mulberry32 */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
