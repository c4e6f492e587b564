import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findProgram } from '../../test/kit/programs/programs.ts'
import { waitUntil } from '../../test/kit/wait-until.ts'

export interface ServerProcess {
  pid: number
  stop(): Promise<void>
}

/** Runs a TypeScript file as a server; resolves once it listens on the port in its first argument. */
export async function startServer(file: URL, args: readonly string[]): Promise<ServerProcess> {
  const child = spawn(process.execPath, [fileURLToPath(file), ...args], {
    // Standard output is the report.
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  onExit(() => void child.kill('SIGKILL'))
  await untilListening(Number(args[0]), child)
  return { pid: child.pid ?? 0, stop: () => stopProcess(child) }
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

export async function untilListening(port: number, child?: ChildProcess): Promise<void> {
  await waitUntil(async () => {
    if (child && child.exitCode !== null) throw new Error(`the server on port ${port} exited`)
    const socket = connect(port, '127.0.0.1')
    const accepts = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    return accepts
  })
}

interface ProcessStat {
  parent: number
  cpuTicks: number
}

// USER_HZ is 100 on every Linux platform that Node supports.
const TICKS_PER_SECOND = 100

/** CPU time of a process, its threads and all its descendants, including exited ones. */
export function cpuSeconds(root: number): number {
  const all = listProcesses()
  return (
    processTree(root, all).reduce((sum, pid) => sum + (all.get(pid)?.cpuTicks ?? 0), 0) /
    TICKS_PER_SECOND
  )
}

/** CPU time of a server and, if any, of its database server. */
export function cpuOf({ pid, storePid }: { pid: number; storePid?: number }): {
  server: number
  store: number
} {
  return { server: cpuSeconds(pid), store: storePid === undefined ? 0 : cpuSeconds(storePid) }
}

/** MB of the main process and of its children, by what they do: PSS, which divides the pages that processes share. */
export function memoryByProcess(root: number): Map<string, number> {
  const all = processTree(root, listProcesses())
  const sums = new Map<string, number>()
  for (const pid of all) {
    const [, child] = /(\w[\w-]*)\/child\./.exec(readIfRunning(pid, 'cmdline')) ?? []
    const name = pid === root ? 'main' : (child ?? 'other')
    const [, kb = 0] = /^Pss:\s+(\d+)/m.exec(readIfRunning(pid, 'smaps_rollup')) ?? []
    sums.set(name, (sums.get(name) ?? 0) + Number(kb) / 1024)
  }
  return sums
}

/** Open files and sockets of a process and all its descendants. */
export function openDescriptors(root: number): number {
  return sumOfTree(root, (pid) => {
    try {
      return readdirSync(`/proc/${pid}/fd`).length
    } catch {
      return 0
    }
  })
}

function sumOfTree(root: number, read: (pid: number) => number): number {
  return processTree(root, listProcesses()).reduce((sum, pid) => sum + read(pid), 0)
}

/** A file of /proc; empty if the process has exited meanwhile. */
function readIfRunning(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

function processTree(root: number, all: ReadonlyMap<number, ProcessStat>): number[] {
  const children = [...all].filter(([, { parent }]) => parent === root).map(([pid]) => pid)
  return [root, ...children.flatMap((pid) => processTree(pid, all))]
}

function listProcesses(): Map<number, ProcessStat> {
  const all = new Map<number, ProcessStat>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = readStat(name)
    if (stat) all.set(Number(name), stat)
  }
  return all
}

function readStat(pid: string): ProcessStat | undefined {
  const text = readIfRunning(pid, 'stat')
  // proc(5): the name is in parentheses and may contain spaces, so fields are counted after it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [user, system, childUser, childSystem] = fields.slice(11, 15).map(Number)
  const cpuTicks = (user ?? 0) + (system ?? 0) + (childUser ?? 0) + (childSystem ?? 0)
  return text === '' ? undefined : { parent: Number(fields[1]), cpuTicks }
}

/** Largest share of all cores that others may use during a measurement. */
export const MAX_BUSY = 0.1
const SAMPLE_MS = 3_000
const SAMPLES = 20

/** Resolves with the share of all cores in use once it is small enough; after a minute, with what it is then. */
export async function waitUntilIdle(): Promise<number> {
  let busy = 1
  for (let count = 0; count < SAMPLES && busy > MAX_BUSY; count += 1) {
    const before = cpuTimes()
    await pause(SAMPLE_MS)
    const after = cpuTimes()
    busy = 1 - (after.idle - before.idle) / (after.all - before.all)
  }
  return busy
}

function cpuTimes(): { idle: number; all: number } {
  const times = cpus().map(({ times }) => times)
  const idle = times.reduce((sum, time) => sum + time.idle, 0)
  const all = times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, idle)
  return { idle, all }
}

export function requireProgram(command: string, debianPackage: string): string {
  const path = findProgram(command)
  if (path) return path
  throw new Error(`${command} not found. On Debian: apt-get install ${debianPackage}`)
}

/** Registers a synchronous cleanup, run in reverse order on exit and on SIGINT, SIGTERM and SIGHUP. */
export function onExit(cleanup: () => void): void {
  if (cleanups.length === 0) installHandlers()
  cleanups.push(cleanup)
}

const cleanups: (() => void)[] = []

function installHandlers(): void {
  process.on('exit', () => {
    for (const cleanup of cleanups.reverse()) cleanup()
  })
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(signal, () => process.exit(code))
  }
}

/** A temporary folder, removed on exit. */
export function benchFolder(): { path: string; inside(name: string): string } {
  const path = mkdtempSync(join(tmpdir(), 'bench-'))
  onExit(() => rmSync(path, { recursive: true, force: true, maxRetries: 10 }))
  // Postfix accesses it as another user.
  chmodSync(path, 0o755)
  return {
    path,
    inside(name) {
      const folder = join(path, name)
      mkdirSync(folder, { recursive: true })
      return folder
    },
  }
}

/** Builds the LD_PRELOAD library that slows fsync; undefined without a C compiler. */
export function buildSlowFsync(folder: string): string | undefined {
  const compiler = findProgram('cc')
  if (!compiler || process.platform !== 'linux') return undefined
  const source = fileURLToPath(new URL('slow-fsync.c', import.meta.url))
  const library = join(folder, 'slow-fsync.so')
  execFileSync(compiler, ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'])
  return library
}
