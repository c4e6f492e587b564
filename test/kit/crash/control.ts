import { copyWithMutations } from '../mutation.ts'
import type { Disk } from '../programs/power-cut.ts'
import { ACKNOWLEDGED, isLoss } from '../store/ledger.ts'
import { DISK, tempFolder } from '../store/stores.ts'
import type { Engine } from './engines.ts'
import { withPowerCuts } from './on-disk.ts'
import { type CrashResult, crashUnderLoad } from './rounds.ts'

// Of which each cut loses some.
const MAILS = 50

interface ControlOptions {
  makeDisk(folder: string): Promise<Disk> | Disk
  count: number
  report?(text: string): void
}

/** Power cuts of a copy that does not sync its commits: each must lose mail, and nothing else may be wrong. */
export async function cutWithoutSync(
  engine: Engine,
  { makeDisk, ...options }: ControlOptions,
): Promise<CrashResult> {
  const copy = tempFolder(DISK)
  const root = copyWithMutations(copy.path, engine.mutation)
  const start = withPowerCuts(engine, makeDisk)
  const result = await crashUnderLoad({ start, mails: MAILS, root, ...options }).finally(
    copy.remove,
  )
  const { lost, findings } = controlFaults(result.findings, result.done)
  const { [ACKNOWLEDGED]: mails = 0 } = result.counts
  const counts = { 'mails without a sync': mails, 'of them lost': lost }
  return {
    done: result.done,
    counts,
    findings: findings.map((finding) => `${engine.mutation.to}: ${finding}`),
  }
}

/** The number of lost mails, and what is wrong: a cut that lost none, or anything else than a loss. */
export function controlFaults(
  findings: readonly string[],
  cuts: number,
): { lost: number; findings: string[] } {
  const cutOf = new Map<string, string>()
  for (const finding of findings.filter(isLoss)) {
    const [cut = '', mail = ''] = finding.split(': ')
    // The last cut reports all of them again.
    if (!cutOf.has(mail)) cutOf.set(mail, cut)
  }
  const lossy = new Set(cutOf.values())
  const lossless = Array.from({ length: cuts }, (_, at) => `fault ${at + 1}`).filter(
    (cut) => !lossy.has(cut),
  )
  return {
    lost: cutOf.size,
    findings: [
      ...findings.filter((finding) => !isLoss(finding)),
      ...lossless.map((cut) => `${cut} lost nothing`),
    ],
  }
}
