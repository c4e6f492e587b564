import { chmodSync, cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withTimeout } from '../../../src/base/jobs/repeat.ts'
import { freeServicePorts } from '../app/service-process.ts'
import { createSession } from '../http/api-client.ts'
import { DISK, tempFolder } from '../store/stores.ts'
import { waitUntil } from '../wait-until.ts'
import type { Actor, Target } from './actor.ts'
import type { Running, StartOptions } from './engines.ts'
import { mailActor } from './mail-actor.ts'

// Enough that none gets more mails than a list has.
const BOXES = 20
const LAST_LINES = 30
// After a fault everything that was in flight has ended long before, also on a busy machine.
const MAX_WAIT_MS = 180_000

interface CrashOptions {
  /** Starts the installation; its `restart` is the fault. */
  start(options: StartOptions): Promise<Running>
  count: number
  /** Mails to be acknowledged before each fault. */
  mails: number
  /** Besides senders. */
  actors?: readonly Actor[]
  root?: string | undefined
  /** Distinguishes the faults of a batch from those of others. */
  first?: number
  report?(text: string): void
  /** Statuses that the fault excuses, besides 503. */
  outages?: readonly number[]
  /** Where the data and the log are kept if there is a finding. */
  evidence?: string
}

export interface CrashResult {
  done: number
  counts: Record<string, number>
  findings: string[]
}

/**
 * Runs load on a new installation, again and again ends it abruptly while the load goes on, and checks what it has then. Each round
 * has new mailboxes. Whatever goes wrong is a finding, also that it does not start.
 */
export async function crashUnderLoad(options: CrashOptions): Promise<CrashResult> {
  const { count, mails, root, actors = [], first = 0, report, evidence, outages = [] } = options
  const [folder, elsewhere] = [tempFolder(DISK), tempFolder(DISK)]
  // PostgreSQL's user needs access to its data.
  chmodSync(folder.path, 0o755)
  const mail = mailActor({ mails, polls: actors.length > 0 })
  const all = [mail, ...actors]
  const cleanup: (() => unknown)[] = [folder.remove, elsewhere.remove]
  for (const actor of actors) cleanup.push(() => actor.close?.())
  const findings: string[] = []
  let running: Running | undefined
  let done = 0
  try {
    const ports = await freeServicePorts()
    const place = { folder: folder.path, elsewhere: elsewhere.path, ports }
    const env = Object.assign({}, ...all.map((actor) => actor.env))
    running = await options.start({ ...place, env, root })
    cleanup.push(running.kill)
    for (const actor of all) await actor.begin?.(running)
    while (done < count) {
      const turn = first + done + 1
      await crashOnce(running, { all, turn, outages, isBusy: mail.isBusy })
      const found = await faultsOf(all, running, done + 1 === count)
      findings.push(...found.map((fault) => `fault ${turn}: ${fault}`))
      done += 1
      report?.(`${done} of ${count}, ${findings.length} findings`)
    }
    for (const actor of all) findings.push(...((await actor.drain?.(running)) ?? []))
    findings.push(...(await stopFaults(running)))
    // A control may damage it.
    if (root === undefined) findings.push(...(await running.damage()))
  } catch (error) {
    // Such as an installation that does not start any more, or a fault without effect.
    findings.push(`after ${first + done} faults: ${error}: ${lastLines(running)}`)
  }
  const output = running?.output() ?? ''
  const secrets = all.flatMap((actor) => actor.secrets?.() ?? [])
  findings.push(...logFaults(output, secrets))
  if (evidence !== undefined && findings.length > 0)
    findings.push(...keepEvidence(folder.path, evidence, output))
  findings.push(...(await cleanUp(cleanup)))
  return { done, counts: Object.assign({}, ...all.map((actor) => actor.counts())), findings }
}

async function stopFaults(running: Running): Promise<string[]> {
  const code = await endsInTime('the service does not end after a SIGTERM', running.stop())
  return code === 0 ? [] : [`the service ended with ${code} after a SIGTERM: ${lastLines(running)}`]
}

/** Applies each, the last first. Returns what has failed. */
async function cleanUp(steps: readonly (() => unknown)[]): Promise<string[]> {
  const failed: string[] = []
  for (const step of steps.toReversed()) {
    try {
      await step()
    } catch (error) {
      failed.push(`at the end: ${error}`)
    }
  }
  return failed
}

async function endsInTime<T>(otherwise: string, work: Promise<T>): Promise<T> {
  const result = await withTimeout(
    MAX_WAIT_MS,
    work.then((value) => ({ value })),
  )
  if (result === undefined) throw new Error(otherwise)
  return result.value
}

/** Servers may still write there. */
function keepEvidence(folder: string, evidence: string, output: string): string[] {
  try {
    cpSync(folder, evidence, { recursive: true, filter: (path) => !path.endsWith('.img') })
    writeFileSync(join(evidence, 'output.log'), output)
    return []
  } catch (error) {
    return [`evidence is not complete: ${error}`]
  }
}

/** Whether a log has one of these. */
export function logFaults(output: string, secrets: readonly string[]): string[] {
  const leaked = secrets
    .flatMap((secret) => [...new Set([secret, encodeURIComponent(secret)])])
    .filter((secret) => output.includes(secret))
  const [first] = leaked
  if (first === undefined) return []
  const line = output.split('\n').find((one) => one.includes(first))
  return [`${leaked.length} tokens, keys, addresses or texts of mails are in the log: ${line}`]
}

function lastLines(running: Running | undefined): string {
  const output = running?.output() ?? ''
  return output.trimEnd().split('\n').slice(-LAST_LINES).join('\n')
}

interface Crash {
  all: readonly Actor[]
  turn: number
  outages: readonly number[]
  isBusy(): boolean
}

async function crashOnce(running: Running, { all, turn, outages, isBusy }: Crash): Promise<void> {
  const boxes = await Promise.all(Array.from({ length: BOXES }, () => createSession(running.url)))
  // Controls lose only mail: without mailboxes or tables nothing could be looked for.
  await running.sync?.()
  let [isFaultDue, stopping] = [false, false]
  const round = {
    boxes,
    stopped: () => stopping,
    isFaultDue: () => isFaultDue,
    isOutage: (status: number) => isFaultDue && [503, ...outages].includes(status),
  }
  const work = Promise.all(all.map((actor) => actor.run(running, round)))
  // Awaited below, but it may reject before.
  work.catch(() => {})
  try {
    const busy = waitUntil(isBusy)
    await Promise.all([busy, ...all.map(async (actor) => await actor.beforeCrash?.(running, busy))])
    isFaultDue = true
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 200))
    await running.restart(turn)
  } finally {
    stopping = true
  }
  await endsInTime('requests are still open long after a fault', work)
}

async function faultsOf(
  actors: readonly Actor[],
  target: Target,
  everything: boolean,
): Promise<string[]> {
  const found = []
  for (const actor of actors) found.push(...(await actor.faults(target, everything)))
  return found
}
