import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ENGINES, type Engine } from '../../kit/crash/engines.ts'
import { mixedLoad } from '../../kit/crash/load.ts'
import { withPowerCuts } from '../../kit/crash/on-disk.ts'
import { crashUnderLoad } from '../../kit/crash/rounds.ts'
import { copyWithMutations } from '../../kit/mutation.ts'
import { type Disk, loopDiskProblem, makeLoopDisk } from '../../kit/programs/power-cut.ts'
import { makeTornDisk, type TornDisk, tornDiskProblem } from '../../kit/programs/torn-disk.ts'
import { isLoss } from '../../kit/store/ledger.ts'
import { DISK, tempFolder } from '../../kit/store/stores.ts'
import type { Batch, BatchOrder, Part } from '../part.ts'
import { merge } from '../results.ts'
import { MAILS, programProblem } from './crashes.ts'

// Of which a control loses some.
const CONTROL_MAILS = 50
const FAULT_MS = 1_000
const FAILED_SYNCS_PERCENT = 30

const execute = promisify(execFile)

const problem = () => programProblem() ?? loopDiskProblem() ?? tornDiskProblem()
const engines: Engine[] = Object.values(ENGINES)

/** Power cuts that lose, reorder and tear the writes that were not synced, as many on SQLite as on PostgreSQL. */
export const tornWrites: Part = {
  name: 'torn-writes',
  unit: 'power cuts',
  goal: 500,
  quickGoal: 2,
  batch: 10,
  problem,
  run: (order) =>
    runEach(engines, order, async (engine, { count, done, report }) => {
      const writes = { 'unsynced writes': 0, 'lost writes': 0, 'torn writes': 0 }
      const tell: TornTell = ({ unsynced, made, torn }) => {
        writes['unsynced writes'] += unsynced
        writes['lost writes'] += unsynced - made
        writes['torn writes'] += torn
      }
      const start = withPowerCuts(engine, (folder) => makeTornDisk(folder, { seed: done, tell }))
      const load = { mails: MAILS, actors: await mixedLoad(), first: done, report }
      const result = await crashUnderLoad({ start, count, ...load })
      return { ...result, counts: { ...result.counts, ...writes } }
    }),
}

type TornTell = NonNullable<Parameters<typeof makeTornDisk>[1]['tell']>

/** Under load, syncs fail or the disk is full for a second. Then the power is cut, so that what was not stored is gone. */
export const diskFaults: Part = {
  name: 'disk-faults',
  unit: 'faults',
  goal: 100,
  quickGoal: 4,
  batch: 20,
  problem,
  run: (order) =>
    runEach(
      engines.flatMap((engine) => [
        (seed: number) => withFailingSyncs(engine, seed),
        () => withFullDisk(engine),
      ]),
      order,
      (start, { count, done, report }) =>
        crashUnderLoad({ start: start(done), count, mails: MAILS, first: done, report }),
    ),
}

function withFailingSyncs(engine: Engine, seed: number): Engine['start'] {
  const makeDisk = (folder: string) => makeTornDisk(folder, { seed })
  return withPowerCuts(engine, makeDisk, async (disk) => {
    await disk.failSyncs(FAILED_SYNCS_PERCENT)
    await setTimeout(FAULT_MS)
    await disk.failSyncs(0)
  })
}

function withFullDisk({ start }: Engine): Engine['start'] {
  // Otherwise mail is deferred before the disk is full.
  const env = { MAYFLY_MIN_FREE: '0' }
  const ballastIn = (folder: string) => join(folder, 'ballast')
  const startFilling: Engine['start'] = (options) => {
    // Its deletion may not have been on the disk when the power was cut.
    rmSync(ballastIn(options.folder), { force: true })
    return start({ ...options, env: { ...options.env, ...env } })
  }
  return withPowerCuts({ start: startFilling }, makeLoopDisk, async ({ path }) => {
    // Fails when there is no space left.
    await execute('dd', ['if=/dev/zero', `of=${ballastIn(path)}`, 'bs=1M']).catch(() => {})
    await setTimeout(FAULT_MS)
    rmSync(ballastIn(path))
  })
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
      runControl,
    ),
}

async function runControl(
  {
    engine,
    makeDisk,
  }: { engine: Engine; makeDisk(folder: string): Disk | Promise<Disk | TornDisk> },
  { count, report }: BatchOrder,
): Promise<Batch> {
  const copy = tempFolder(DISK)
  const root = copyWithMutations(copy.path, engine.mutation)
  const start = withPowerCuts(engine, makeDisk)
  const load = { count, mails: CONTROL_MAILS, root, report }
  const { done, counts, findings } = await crashUnderLoad({ start, ...load }).finally(copy.remove)
  const others = findings.filter((finding) => !isLoss(finding))
  const lost = findings.length - others.length
  return {
    done,
    counts: { ...counts, 'lost mails': lost },
    findings: lost > 0 ? others : [...others, `${engine.mutation.to} lost nothing`],
  }
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
