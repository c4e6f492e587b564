import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { cutWithoutSync } from '../../kit/crash/control.ts'
import { ENGINES, type Engine } from '../../kit/crash/engines.ts'
import { withPowerCuts } from '../../kit/crash/on-disk.ts'
import { loopDiskProblem, makeLoopDisk } from '../../kit/programs/power-cut.ts'
import { makeTornDisk, tornDiskProblem } from '../../kit/programs/torn-disk.ts'
import { connectSmtp } from '../../kit/smtp/smtp-client.ts'
import { waitUntil } from '../../kit/wait-until.ts'
import type { Batch, BatchOrder, Part } from '../part.ts'
import { merge } from '../results.ts'
import { crashUnderMixedLoad, programProblem } from './crashes.ts'

const FAULT_MS = 1_000
const FAILED_SYNCS_PERCENT = 30

const execute = promisify(execFile)

const problem = () => programProblem() ?? loopDiskProblem() ?? tornDiskProblem()
const engines: Engine[] = Object.values(ENGINES)

/** Power cuts that lose, reorder and tear the writes that were not synced, as many on SQLite as on PostgreSQL. */
export const tornWrites: Part = {
  name: 'torn-writes',
  unit: 'power cuts',
  goal: 200,
  quickGoal: 2,
  batch: 10,
  problem,
  run: (order) =>
    runEach(engines, order, async (engine, share) => {
      const writes = { 'unsynced writes': 0, 'lost writes': 0, 'torn writes': 0 }
      const tell: TornTell = ({ unsynced, made, torn }) => {
        if (unsynced === 0) throw new Error('everything was synced at a cut')
        writes['unsynced writes'] += unsynced
        writes['lost writes'] += unsynced - made
        writes['torn writes'] += torn
      }
      const start = withPowerCuts(engine, (folder) =>
        makeTornDisk(folder, { seed: share.done, tell }),
      )
      const result = await crashUnderMixedLoad('torn-writes', start, share)
      return { ...result, counts: { ...result.counts, ...writes } }
    }),
}

type TornTell = NonNullable<Parameters<typeof makeTornDisk>[1]['tell']>

/** Under load, syncs fail or the disk is full for a second. Then the power is cut, so that what was not stored is gone. */
export const diskFaults: Part = {
  name: 'disk-faults',
  unit: 'faults',
  goal: 120,
  quickGoal: 4,
  batch: 20,
  problem,
  run: (order) =>
    runEach(
      engines.flatMap((engine) => [failSyncs, fillDisk].map((fault) => ({ engine, fault }))),
      order,
      async ({ engine, fault }, share) => {
        const { start, counts } = fault(engine, share.done)
        const result = await crashUnderMixedLoad('disk-faults', start, share, [500])
        return { ...result, counts: { ...result.counts, ...counts } }
      },
    ),
}

interface DiskFault {
  start: Engine['start']
  /** What the fault was seen to do. */
  counts: Record<string, number>
}

function failSyncs(engine: Engine, seed: number): DiskFault {
  const counts = { 'failed syncs': 0 }
  const makeDisk = (folder: string) => makeTornDisk(folder, { seed })
  const start = withPowerCuts(engine, makeDisk, async (disk) => {
    await disk.failSyncs(FAILED_SYNCS_PERCENT)
    await setTimeout(FAULT_MS)
    const failed = await disk.failSyncs(0)
    if (failed === 0) throw new Error('no sync failed')
    counts['failed syncs'] += failed
  })
  return { start, counts }
}

function fillDisk({ start }: Engine): DiskFault {
  const counts = { 'full disks': 0 }
  // Otherwise mail is deferred before the disk is full.
  const env = { MAYFLY_MIN_FREE: '0' }
  const ballastIn = (folder: string) => join(folder, 'ballast')
  const startFilling: Engine['start'] = (options) => {
    // Its deletion may not have been on the disk when the power was cut.
    rmSync(ballastIn(options.folder), { force: true })
    return start({ ...options, env: { ...options.env, ...env } })
  }
  const fill = async ({ path }: { path: string }, { smtpPort }: { smtpPort: number }) => {
    // Fails when there is no space left.
    await execute('dd', ['if=/dev/zero', `of=${ballastIn(path)}`, 'bs=1M']).catch(() => {})
    // Files that exist have some space left.
    await waitUntil(() => isDeferred(smtpPort))
    await setTimeout(FAULT_MS)
    rmSync(ballastIn(path))
    counts['full disks'] += 1
  }
  return { start: withPowerCuts({ start: startFilling }, makeLoopDisk, fill), counts }
}

async function isDeferred(smtpPort: number): Promise<boolean> {
  const client = await connectSmtp(smtpPort).catch(() => undefined)
  const reply = await client?.send({ to: ['full@pool.test'], raw: 'Subject: full\r\n\r\n' })
  client?.close()
  return reply?.code === 451 || reply?.code === 452
}

const CONTROL_CUTS = 3

/** The same cuts when commits are not synced: each must lose mail, or the parts above prove nothing. */
export const controls: Part = {
  name: 'controls',
  unit: 'power cuts',
  goal: 4 * CONTROL_CUTS,
  quickGoal: 4,
  batch: 4 * CONTROL_CUTS,
  problem,
  run: (order) =>
    runEach(
      engines.flatMap((engine) => [
        { engine, makeDisk: makeLoopDisk },
        { engine, makeDisk: (folder: string) => makeTornDisk(folder, { seed: 1 }) },
      ]),
      order,
      ({ engine, makeDisk }, { count, report }) =>
        cutWithoutSync(engine, { makeDisk, count, report }),
    ),
}

/** Shares the batch out to these variants, one after the other. */
async function runEach<Variant>(
  variants: readonly Variant[],
  order: BatchOrder,
  run: (variant: Variant, order: BatchOrder) => Promise<Batch>,
): Promise<Batch> {
  let sum: Batch = { done: 0, counts: {}, findings: [] }
  for (const [at, variant] of variants.entries()) {
    const count = Math.ceil((order.count - sum.done) / (variants.length - at))
    if (count === 0) continue
    const { done, counts, findings } = await run(variant, {
      ...order,
      count,
      done: order.done + sum.done,
    })
    sum = {
      done: sum.done + done,
      counts: merge(sum.counts, counts, (one, other) => one + other),
      findings: [...sum.findings, ...findings],
    }
  }
  return sum
}
