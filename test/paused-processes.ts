import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * Stops these processes and all their descendants (SIGSTOP) and waits until no thread of them runs: a system call that
 * was under way, such as fsync, has returned. The result lets them run on.
 */
export async function pauseProcesses(roots: readonly number[]): Promise<() => void> {
  const paused = new Set<number>()
  const resume = () => {
    for (const pid of paused) signal(pid, 'SIGCONT')
  }
  for (let attempt = 0; attempt < 2_000; attempt += 1) {
    const pids = roots.flatMap(withDescendants)
    for (const pid of pids.filter((one) => !paused.has(one))) signal(pid, 'SIGSTOP')
    // A process that forked before its SIGSTOP took effect shows its child in the next round.
    if (pids.every((pid) => paused.has(pid) && isStopped(pid))) return resume
    for (const pid of pids) paused.add(pid)
    await pause(5)
  }
  resume()
  throw new Error(`these processes do not stop: ${[...paused].filter((pid) => !isStopped(pid))}`)
}

function withDescendants(pid: number): number[] {
  const children = threadsOf(pid).flatMap((thread) =>
    readProc(`${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(withDescendants)]
}

function isStopped(pid: number): boolean {
  return threadsOf(pid).every((thread) => {
    const stat = readProc(`${pid}/task/${thread}/stat`)
    // T: stopped; Z and X: ended. The name before it stands in brackets and may hold spaces.
    return stat === '' || 'TZX'.includes(stat.charAt(stat.lastIndexOf(')') + 2))
  })
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** Empty where the process has ended meanwhile. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return ''
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended meanwhile.
  }
}
