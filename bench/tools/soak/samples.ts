import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { memoryByProcess, openDescriptors } from '../processes.ts'
import type { Taken } from './tally.ts'

/** What is sampled, for bench/soak.ts and the campaign. */
export interface SoakTarget {
  /** The main process of each node. */
  pids(): readonly number[]
  /** MB of files whose size should be level: the write-ahead log, and the rest. */
  files(): Promise<Files> | Files
  /** MB of what grows with every mail: the log, and on PostgreSQL raw mail, which is dropped by the day. */
  growing?(): Promise<Growing> | Growing
}

interface Files {
  data: number
  wal: number
  /** What Redis has in memory. */
  redis?: number
}

interface Growing {
  log?: number
  raw?: number
}

export interface Sample extends Taken {
  minute: number
  /** By process, over all nodes. */
  pssMb: Map<string, number>
  descriptors: number
  /** Operations under way. */
  pending: number
  files: Files
  /** By how much each has grown since the last sample. */
  grown: Growing
}

interface SoakOptions {
  minutes: number
  sampleSeconds: number
  /** The next sample begins when it is over. */
  onSample(sample: Sample): Promise<void> | void
}

/** Samples a service under load until the time is over. */
export async function soak(
  target: SoakTarget,
  load: { take(): Taken; pending(): number },
  { minutes, sampleSeconds, onSample }: SoakOptions,
): Promise<Sample[]> {
  const samples: Sample[] = []
  const readGrowing = async () => (await target.growing?.()) ?? {}
  let before = await readGrowing()
  for (let seconds = sampleSeconds; seconds <= minutes * 60; seconds += sampleSeconds) {
    await pause(sampleSeconds * 1_000)
    const now = await readGrowing()
    const sample = {
      ...{ minute: seconds / 60, ...measureProcesses(target.pids()), pending: load.pending() },
      ...{ files: await target.files(), grown: difference(now, before), ...load.take() },
    }
    before = now
    samples.push(sample)
    await onSample(sample)
  }
  return samples
}

function difference(now: Growing, before: Growing): Growing {
  const names = Object.keys(now) as (keyof Growing)[]
  return Object.fromEntries(names.map((name) => [name, (now[name] ?? 0) - (before[name] ?? 0)]))
}

function measureProcesses(pids: readonly number[]) {
  const pssMb = new Map<string, number>()
  let descriptors = 0
  for (const pid of pids) {
    descriptors += openDescriptors(pid)
    for (const [name, mb] of memoryByProcess(pid)) pssMb.set(name, (pssMb.get(name) ?? 0) + mb)
  }
  return { pssMb, descriptors }
}

export const memoryMb = ({ pssMb }: Pick<Sample, 'pssMb'>) =>
  pssMb.values().reduce((all, one) => all + one, 0)

/** The files of a service on SQLite. */
export function sqliteFiles(folder: string): Files {
  const isWal = (file: string) => file.endsWith('-wal')
  return {
    data: filesMb(folder, (file) => !isWal(file)),
    wal: filesMb(folder, isWal),
  }
}

export function filesMb(folder: string, isCounted = (_file: string) => true): number {
  // One may be removed meanwhile.
  const size = (file: string) => statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0
  return (
    readdirSync(folder).reduce((sum, file) => sum + (isCounted(file) ? size(file) : 0), 0) / 2 ** 20
  )
}
