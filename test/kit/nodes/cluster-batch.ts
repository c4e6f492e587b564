import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { waitUntil } from '../wait-until.ts'
import { checkHistory, type Rule } from './check-history.ts'
import { type Cluster, openCluster } from './cluster.ts'
import { CLUSTER_FAULTS, type FaultDeps, OLDER } from './cluster-faults.ts'
import { type ClusterLoad, startClusterLoad } from './cluster-load.ts'
import { unexplainedStarts } from './failed-starts.ts'
import type { Entry } from './history.ts'
import { countChecked } from './history-counts.ts'
import { leakedSecrets, loggedErrors } from './logs.ts'

interface BatchOptions {
  count: number
  seed: number
  report(text: string): void
  /** The root folder of an older version that may run beside this one. */
  older: string | undefined
}

/** A new cluster under load, some faults, of which some overlap, and the check of what its clients recorded. */
export async function runClusterBatch({ count, seed, report, older }: BatchOptions) {
  const random = seededRandom(seed)
  report('starting the cluster')
  return await withLoad({ synchronous: true, random }, async (cluster, load) => {
    const { history, surprises, secrets } = load
    const unrecovered: string[] = []
    async function recovers(use: () => Promise<unknown>): Promise<boolean> {
      report('recovering')
      await use().catch((error) => unrecovered.push(`the cluster did not recover: ${error}`))
      return unrecovered.length === 0
    }
    const working = () => recovers(() => cluster.recover().then(load.expectWorking))
    const deps = { cluster, history, random, older }
    const faults = await injectFaults(deps, { count, seed, report, working })
    const hasRecovered =
      unrecovered.length === 0 && (await recovers(() => load.finish().then(load.waitForDeliveries)))
    report('checking')
    const counts = countChecked(history.entries)
    const findings = [
      ...unrecovered,
      ...faults.flatMap(({ error }) => error ?? []),
      ...unexplainedStarts(cluster.failedStarts, faults),
      ...violations(history.entries, { hasRecovered }),
      ...nothingChecked(counts),
      ...[...surprises].map((one) => `unexpected: ${one}`),
      ...cluster.crashes,
      ...logFindings(cluster.nodeOutput(), secrets, faults),
    ]
    const log = faults.map(describe)
    const evidence = findings.length > 0 ? saveEvidence({ cluster, load, log, seed }) : ''
    const effective = faults.filter(({ effect }) => effect !== undefined)
    return {
      done: effective.length,
      counts: {
        ...counts,
        'mails without a 250': history.entries.filter(isUnacceptedMail).length,
        'faults without effect': faults.length - effective.length,
        ...countKinds(effective),
      },
      findings: findings.map((one) => `${one} (seed ${seed}; ${evidence}; ${log.join('; ')})`),
    }
  })
}

/** Leaves nothing running, whatever happens. */
async function withLoad<T>(
  { synchronous, random }: { synchronous: boolean; random(): number },
  use: (cluster: Cluster, load: ClusterLoad) => Promise<T>,
): Promise<T> {
  const cluster = await openCluster({ synchronous })
  try {
    const load = await startClusterLoad(cluster, random)
    try {
      return await use(cluster, load)
    } finally {
      await load.close()
    }
  } finally {
    await cluster.close()
  }
}

interface InjectedFault {
  kind: string
  on: string
  /** Undefined: it does not count. */
  effect: string | undefined
  start: number
  end: number
  error?: string
}

interface FaultOptions extends Pick<BatchOptions, 'count' | 'seed' | 'report'> {
  /** Whether everything works again. */
  working(): Promise<boolean>
}

/** Until so many have had an effect; refusals are common while others last. */
async function injectFaults(deps: FaultDeps, { count, seed, report, working }: FaultOptions) {
  const { history, random, older } = deps
  const deck = Object.keys(CLUSTER_FAULTS).filter((kind) => kind !== OLDER || older !== undefined)
  const faults: InjectedFault[] = []
  const missing = () => count - faults.filter(({ effect }) => effect !== undefined).length

  async function inject(kind: string): Promise<InjectedFault> {
    const start = history.now()
    const result = await CLUSTER_FAULTS[kind]?.(deps).catch((error: unknown) => ({
      on: 'failed',
      effect: undefined,
      error: `${kind} failed: ${error}`,
    }))
    if (!result) throw new Error(`unknown kind of fault: ${kind}`)
    const injected = { kind, ...result, start, end: history.now() }
    if (result.effect === undefined) process.stdout.write(`${describe(injected)}\n`)
    return injected
  }

  while (missing() > 0 && faults.length < 2 * count) {
    // The second one begins while the first one lasts.
    const pair: Promise<InjectedFault>[] = []
    for (const size = Math.min(2, missing()); pair.length < size; ) {
      await pause(2_000 + random() * 6_000)
      const kind = drawFrom(deck, seed + faults.length + pair.length)
      report(`fault ${count - missing() + pair.length + 1} of ${count}: ${kind}`)
      pair.push(inject(kind))
    }
    faults.push(...(await Promise.all(pair)))
    if (!(await working())) break
  }
  return faults
}

function describe({ kind, on, effect = 'no effect', start, end }: InjectedFault): string {
  return `${kind} (${on}: ${effect}) from ${Math.round(start)} to ${Math.round(end)} ms`
}

// Violated by what could not happen any more.
const AFTER_RECOVERY: readonly Rule[] = ['never looked for', 'never attacked', 'not delivered']

/** One sentence per rule: a lost primary is hundreds of violations. */
function violations(
  entries: readonly Entry[],
  { hasRecovered }: { hasRecovered: boolean },
): string[] {
  const found = checkHistory(entries).filter(
    ({ rule }) => hasRecovered || !AFTER_RECOVERY.includes(rule),
  )
  return [...Map.groupBy(found, ({ rule }) => rule)].map(([rule, all]) => {
    const [first] = all
    return `${all.length} times ${rule}, such as ${first?.subject}: ${first?.detail}`
  })
}

const CHILD_TOO_LATE = /a mail child did not start \(timeout/

function logFindings(
  output: string,
  secrets: Iterable<string>,
  faults: readonly InjectedFault[],
): string[] {
  const leaked = leakedSecrets(output, secrets)
  // The time that a child has to start passes while its node is suspended.
  const wasSuspended = faults.some(({ kind }) => kind === 'node suspended')
  const [error, ...more] = loggedErrors(output).filter(
    (line) => !(wasSuspended && CHILD_TOO_LATE.test(line)),
  )
  return [
    ...(leaked.length > 0 ? [`${leaked.length} secrets in the logs, such as ${leaked[0]}`] : []),
    ...(error === undefined ? [] : [`${more.length + 1} errors in the logs, such as ${error}`]),
  ]
}

interface Evidence {
  cluster: Cluster
  load: ClusterLoad
  log: readonly string[]
  seed: number
}

/** What led to a finding, in files that stay. */
function saveEvidence({ cluster, load, log, seed }: Evidence): string {
  const lines = load.history.entries.map((entry) => JSON.stringify(entry))
  const path = join(tmpdir(), `mayfly-cluster-${seed}`)
  writeFileSync(`${path}.jsonl`, `${lines.join('\n')}\n`)
  writeFileSync(`${path}.log`, [...log, cluster.output(), cluster.nodeOutput()].join('\n'))
  return `${path}.jsonl and .log`
}

const isUnacceptedMail = ({ kind, result }: Entry) => kind === 'send' && result === 'unknown'

/** A check without anything to compare finds nothing. */
function nothingChecked(counts: Record<string, number>): string[] {
  return Object.entries(counts).flatMap(([what, count]) =>
    count > 0 ? [] : [`checked no ${what}`],
  )
}

function countKinds(faults: readonly InjectedFault[]): Record<string, number> {
  const byKind = Map.groupBy(faults, ({ kind }) => kind)
  return Object.fromEntries([...byKind].map(([kind, all]) => [kind, all.length]))
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
  const options = { synchronous: false, random: seededRandom(0) }
  return await withLoad(options, async (cluster, { history, finish }) => {
    const primary = (await cluster.primary()) ?? 'postgres1'
    const standby = primary === 'postgres1' ? 'postgres2' : 'postgres1'
    const { machines } = cluster
    const end = machines[primary].filter({ peers: [machines[standby].address] })
    await pause(6_000)
    machines[primary].kill()
    end()
    await waitUntil(async () => (await cluster.primary()) === standby)
    await cluster.recover()
    await finish()
    const isFound = checkHistory(history.entries).some(({ rule }) => rule === 'lost')
    return isFound ? [] : ['control: the loss of mail was not detected']
  })
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
