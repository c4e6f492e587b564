import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { mountProblem } from './capabilities.ts'

export interface Disk {
  /** The mount point. */
  path: string
  /** Ends these processes, which use it, like a power cut, and mounts what is left. */
  cut(name: string, pids: readonly number[]): Promise<Disk>
  /** Everything written so far survives the next cut. */
  sync(): Promise<void>
  /** Unmounts it and deletes its contents. */
  remove(): Promise<void>
}

const SIZE = '256M'

// Nothing may reach the device unless it is synced: no commit of the journal every 5 seconds, no early allocation of
// files that are renamed or truncated, no initialization of inode tables in the background.
const OPTIONS = 'loop,commit=300,noauto_da_alloc,noinit_itable'

/**
 * An ext4 file system in an image file, mounted through a loop device. After a cut it has what has reached the device so far.
 * Requires root.
 */
export function makeLoopDisk(folder: string, name = 'disk'): Disk {
  const image = join(folder, `${name}.img`)
  execFileSync('truncate', ['-s', SIZE, image])
  execFileSync('mkfs.ext4', ['-q', '-F', image])
  return mountImage(image)
}

function mountImage(image: string): Disk {
  const path = image.replace(/\.img$/, '')
  mkdirSync(path)
  execFileSync('mount', ['-o', OPTIONS, image, path])
  unmountAtExit(path)
  const device = basename(
    execFileSync('findmnt', ['-n', '-o', 'SOURCE', path], { encoding: 'utf8' }).trim(),
  )
  return {
    path,
    async cut(name, pids) {
      const target = join(image, '..', `${name}.img`)
      const kill = () => killProcesses(pids)
      // A paused process would not end with this one.
      process.once('exit', kill)
      try {
        await pauseProcesses(pids)
        // All replies sent before have been read and recorded by the time of the check: nothing sends any more.
        await copyUnchanged(image, target, device)
      } finally {
        process.off('exit', kill)
        kill()
      }
      return mountImage(target)
    },
    sync: async () => void execFileSync('sync', ['-f', path]),
    async remove() {
      await unmount(path)
      rmSync(path, { recursive: true, force: true })
      rmSync(image, { force: true })
    },
  }
}

/** A copy during which the kernel wrote to the device would be inconsistent: it is repeated. */
async function copyUnchanged(image: string, target: string, device: string): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const before = deviceWrites(device)
    execFileSync('cp', ['--sparse=always', image, target])
    const after = deviceWrites(device)
    if (before.inFlight === 0 && after.inFlight === 0 && before.done === after.done) return
    await pause(100)
  }
  throw new Error(`${device} is written to without end`)
}

/** Fields of Documentation/block/stat: requests completed (reads, …, writes, …), then those in flight. */
function deviceWrites(device: string): { done: number; inFlight: number } {
  const fields = readFileSync(`/sys/block/${device}/stat`, 'utf8').trim().split(/\s+/).map(Number)
  return { done: fields[4] ?? 0, inFlight: fields[8] ?? 0 }
}

const mounted = new Set<string>()

/** If it is aborted before `isUnmounted`. */
export function unmountAtExit(path: string): void {
  if (mounted.size === 0) process.once('exit', unmountAll)
  mounted.add(path)
}

export function isUnmounted(path: string): void {
  mounted.delete(path)
  if (mounted.size === 0) process.off('exit', unmountAll)
}

/** A process that was just killed may still hold a file open. */
async function unmount(path: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      execFileSync('umount', [path], { stdio: 'pipe' })
      isUnmounted(path)
      return
    } catch (error) {
      if (attempt === 100) throw error
      await pause(50)
    }
  }
}

/** The last resort after an aborted test: detached now, unmounted as soon as nothing uses it. */
function unmountAll(): void {
  for (const path of mounted) spawnSync('umount', ['-l', path])
  mounted.clear()
}

/** Why a loop disk cannot be used here; undefined if it can. */
export function loopDiskProblem(): string | undefined {
  if (mountProblem !== undefined) return mountProblem
  if (!statSync('/dev/loop-control', { throwIfNoEntry: false })) return 'there are no loop devices'
  return undefined
}

/**
 * Stops these processes and all their descendants (SIGSTOP) and waits until no thread of them runs: a system call that
 * was in progress, such as fsync, has returned.
 */
async function pauseProcesses(roots: readonly number[]): Promise<void> {
  const paused = new Set<number>()
  for (let attempt = 0; attempt < 2_000; attempt += 1) {
    const pids = roots.flatMap(withDescendants)
    for (const pid of pids.filter((one) => !paused.has(one))) signal(pid, 'SIGSTOP')
    // A process that forked before its SIGSTOP took effect shows its child in the next round.
    if (pids.every((pid) => paused.has(pid) && isStopped(pid))) return
    for (const pid of pids) paused.add(pid)
    await pause(5)
  }
  throw new Error(`these processes do not stop: ${[...paused].filter((pid) => !isStopped(pid))}`)
}

export function killProcesses(roots: readonly number[]): void {
  for (const pid of roots.flatMap(withDescendants)) signal(pid, 'SIGKILL')
}

export function withDescendants(pid: number): number[] {
  const children = threadsOf(pid).flatMap((thread) =>
    readProc(`${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(withDescendants)]
}

export function isStopped(pid: number): boolean {
  return threadsOf(pid).every((thread) => {
    const stat = readProc(`${pid}/task/${thread}/stat`)
    // T: stopped; Z and X: exited. The name before it is in parentheses and may contain spaces.
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

/** Empty if the process has exited meanwhile. */
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
    // It has exited meanwhile.
  }
}
