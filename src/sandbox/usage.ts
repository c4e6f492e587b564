import { readFileSync } from 'node:fs'

/** What a process has used so far. */
export interface Usage {
  cpuMs: number
  memoryMb: number
}

/** Undefined where the system does not tell, and for a process that is gone. */
export function readUsage(pid: number): Usage | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name in brackets may hold anything, blanks too: the numbers begin after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = Number(fields[USER]) + Number(fields[SYSTEM])
    const resident = /^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
    return { cpuMs: ticks * MS_PER_TICK, memoryMb: Number(resident ?? 0) / 1024 }
  } catch {
    return undefined
  }
}

/** The process that this one has started; undefined when there is none, or the system does not tell. */
export function onlyChildOf(pid: number): number | undefined {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
    return Number.parseInt(children, 10) || undefined
  } catch {
    return undefined
  }
}

// proc(5): fields 14 and 15, counted from the third.
const USER = 11
const SYSTEM = 12
// Linux tells user space 100 ticks a second on every platform of ours, whatever the kernel's own tick is.
const MS_PER_TICK = 10
