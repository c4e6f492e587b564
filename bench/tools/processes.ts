import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { connect } from 'node:net'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export interface ServerProcess {
  pid: number
  stop(): Promise<void>
}

/** Runs a TypeScript file as a server that listens on the port in its first argument. */
export function startServer(
  file: URL,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<ServerProcess> {
  return startProgram([fileURLToPath(file), ...args], { port: Number(args[0]), env })
}

/** Runs a file with arguments in Node; resolves once it listens on the port. */
export async function startProgram(
  command: readonly string[],
  { port, env = {} }: { port: number; env?: Record<string, string> },
): Promise<ServerProcess> {
  const child = spawn(process.execPath, command, {
    // Standard output is the report.
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...env },
  })
  onExit(() => void child.kill('SIGKILL'))
  await untilListening(port, child)
  return { pid: child.pid ?? 0, stop: () => stopProcess(child) }
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

export async function untilListening(port: number, child?: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (child && child.exitCode !== null) throw new Error(`the server on port ${port} exited`)
    if (await accepts(port)) return
    await pause(20)
  }
  throw new Error(`nothing listens on port ${port}`)
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.end()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
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

/** CPU seconds of a process by thread name. */
export function threadTimes(pid: number): Map<string, number> {
  const tasks = `/proc/${pid}/task`
  const times = new Map<string, number>()
  for (const task of readdirSync(tasks)) {
    const name = readFileSync(join(tasks, task, 'comm'), 'utf8').trim()
    // In nanoseconds; `stat` counts hundredths of a second.
    const [ns] = readFileSync(join(tasks, task, 'schedstat'), 'utf8').split(' ')
    times.set(name, (times.get(name) ?? 0) + Number(ns) / 1e9)
  }
  return times
}

/** CPU time of a server and, if any, of its database server. */
export function cpuOf({ pid, storePid }: { pid: number; storePid?: number }): {
  server: number
  store: number
} {
  return { server: cpuSeconds(pid), store: storePid === undefined ? 0 : cpuSeconds(storePid) }
}

/** Bytes that the process has read from the disk, not from the page cache. */
export function diskReadBytes(pid: number): number {
  return Number(/^read_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
}

export interface Memory {
  rssMb: number
  /** Resident, with pages that processes share divided among them. */
  pssMb: number
  /** Without file-backed pages, which the kernel can reclaim. */
  anonymousMb: number
}

export function memoryOf(root: number): Memory {
  const all = processTree(root, listProcesses()).map((pid) =>
    ['status', 'smaps_rollup'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8')).join(''),
  )
  const sum = (field: string) =>
    all.reduce(
      (kb, text) => kb + Number(new RegExp(`${field}:\\s+(\\d+)`).exec(text)?.[1] ?? 0),
      0,
    ) / 1024
  return { rssMb: sum('VmRSS'), pssMb: sum('\\nPss'), anonymousMb: sum('RssAnon') }
}

/** PSS of the main process and of its children, by what they do. */
export function memoryByProcess(root: number): Map<string, number> {
  const all = processTree(root, listProcesses())
  const sums = new Map<string, number>()
  for (const pid of all) {
    const [, child] = /(\w[\w-]*)\/child\./.exec(readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? []
    const name = pid === root ? 'main' : (child ?? 'other')
    const kb = Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])
    sums.set(name, (sums.get(name) ?? 0) + kb / 1024)
  }
  return sums
}

/** Shared pages divided by the number of processes that share them. */
export function pssMb(root: number): number {
  const kilobytes = processTree(root, listProcesses()).map((pid) =>
    Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]),
  )
  return kilobytes.reduce((sum, one) => sum + one, 0) / 1024
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
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // proc(5): the name is in parentheses and may contain spaces, so fields are counted after it.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [user, system, childUser, childSystem] = fields.slice(11, 15).map(Number)
    const cpuTicks = (user ?? 0) + (system ?? 0) + (childUser ?? 0) + (childSystem ?? 0)
    return { parent: Number(fields[1]), cpuTicks }
  } catch {
    // The process has exited meanwhile.
    return undefined
  }
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

const SERVER_FOLDERS = [
  '/usr/local/sbin',
  '/usr/sbin',
  ...[17, 15].map((version) => `/usr/lib/postgresql/${version}/bin`),
]

/** Also searches directories that Debian leaves out of the PATH of ordinary users. */
export function findProgram(command: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':'), ...SERVER_FOLDERS]
  return folders.map((folder) => join(folder, command)).find(isProgram)
}

export function requireProgram(command: string, debianPackage: string): string {
  const path = findProgram(command)
  if (path) return path
  throw new Error(`${command} not found. On Debian: apt-get install ${debianPackage}`)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
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
