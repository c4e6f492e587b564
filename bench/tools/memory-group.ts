import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onExit } from './processes.ts'

const ROOT = '/sys/fs/cgroup'
const isVersion1 = existsSync(`${ROOT}/memory/memory.limit_in_bytes`)
const FILES = isVersion1
  ? {
      limit: 'memory.limit_in_bytes',
      peak: 'memory.max_usage_in_bytes',
      kills: 'memory.oom_control',
    }
  : { limit: 'memory.max', peak: 'memory.peak', kills: 'memory.events' }

export interface MemoryGroup {
  /** A program to run another one under, with its options. */
  under: string[]
  /** As the kernel counts it, with the page cache of files. */
  peakMb(): number
  kills(): number
}

/** A control group with a limit of memory, or undefined without the rights for it. */
export function openMemoryGroup(mb: number): MemoryGroup | undefined {
  const path = join(ROOT, isVersion1 ? 'memory' : '', `mayfly-bench-${process.pid}`)
  try {
    mkdirSync(path)
    onExit(() => removeGroup(path))
    writeFileSync(join(path, FILES.limit), String(mb * 2 ** 20))
  } catch {
    return undefined
  }
  const read = (file: string) => readFileSync(join(path, file), 'utf8')
  return {
    under: ['sh', '-c', `echo $$ >${path}/cgroup.procs && exec "$@"`, 'sh'],
    peakMb: () => Number(read(FILES.peak)) / 2 ** 20,
    kills: () => Number(/^oom_kill (\d+)$/m.exec(read(FILES.kills))?.[1]),
  }
}

function removeGroup(path: string): void {
  try {
    rmdirSync(path)
  } catch (error) {
    console.error(`${path} is left behind: ${error}`)
  }
}
