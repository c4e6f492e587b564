import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { memoryByProcess, openDescriptors } from './processes.ts'
import { median } from './report.ts'
import type { SoakLoad, Taken } from './soak-load.ts'

/** What is sampled, for bench/soak.ts and the campaign. */
export interface SoakTarget {
  /** The main process of each node. */
  pids(): readonly number[]
  dataFolder: string
  /** Files in that folder that are of a write-ahead log. */
  wal: RegExp
}

export interface Sample extends Taken {
  minute: number
  /** By process, over all nodes. */
  pssMb: Map<string, number>
  descriptors: number
  dataMb: number
  walMb: number
}

interface SoakOptions {
  minutes: number
  sampleSeconds: number
  onSample(sample: Sample): void
}

/** Samples a service under load until the time is over. */
export async function soak(
  target: SoakTarget,
  load: SoakLoad,
  { minutes, sampleSeconds, onSample }: SoakOptions,
): Promise<Sample[]> {
  const samples: Sample[] = []
  for (let seconds = sampleSeconds; seconds <= minutes * 60; seconds += sampleSeconds) {
    await pause(sampleSeconds * 1_000)
    const sample = { minute: seconds / 60, ...measure(target), ...load.take() }
    samples.push(sample)
    onSample(sample)
  }
  return samples
}

function measure({ pids, dataFolder, wal }: SoakTarget) {
  const pssMb = new Map<string, number>()
  let descriptors = 0
  for (const pid of pids()) {
    descriptors += openDescriptors(pid)
    for (const [name, mb] of memoryByProcess(pid)) pssMb.set(name, (pssMb.get(name) ?? 0) + mb)
  }
  const files = readdirSync(dataFolder, { recursive: true, encoding: 'utf8' })
  const dataMb = sizeMb(dataFolder, files)
  return {
    pssMb,
    descriptors,
    dataMb,
    walMb: sizeMb(
      dataFolder,
      files.filter((f) => wal.test(f)),
    ),
  }
}

function sizeMb(folder: string, files: readonly string[]): number {
  // One may be removed meanwhile.
  const size = (file: string) => statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0
  return files.reduce((sum, file) => sum + size(file), 0) / 2 ** 20
}

export const memoryMb = ({ pssMb }: Sample) => pssMb.values().reduce((all, one) => all + one, 0)

/** From then on the caches are full, and mail expires as fast as it arrives. */
export const WARM_MINUTES = 10
/** The most by which what should be level may grow. */
export const MAX_GROWTH = 1.1
const MIN_SAMPLES = 20

const LEVEL = {
  memory: memoryMb,
  descriptors: (sample: Sample) => sample.descriptors,
  'median of polls': (sample: Sample) => median(sample.pollsMs),
  'median of 250': (sample: Sample) => median(sample.acceptedMs),
}

/** By how much each has grown after the warm-up; nothing if that was too short to tell. */
export function growthOf(samples: readonly Sample[]): Partial<Record<keyof typeof LEVEL, number>> {
  const warm = samples.filter(({ minute }) => minute > WARM_MINUTES)
  if (warm.length < MIN_SAMPLES) return {}
  return Object.fromEntries(
    Object.entries(LEVEL).map(([name, read]) => [name, growth(warm.map(read))]),
  )
}

/** The end of the least-squares line through the values, of its start. */
export function growth(values: readonly number[]): number {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const slope =
    values.reduce((sum, value, at) => sum + (at - middle) * (value - mean), 0) /
    values.reduce((sum, _, at) => sum + (at - middle) ** 2, 0)
  return (mean + slope * middle) / (mean - slope * middle)
}
