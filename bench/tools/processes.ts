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
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** A server of ours in a process of its own, on a port given as its first argument. */
export async function startServer(
  file: URL,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ pid: number; stop(): Promise<void> }> {
  const child = spawn(process.execPath, [fileURLToPath(file), ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  })
  onExit(() => void child.kill('SIGKILL'))
  await untilListening(Number(args[0]), child)
  return { pid: child.pid ?? 0, stop: () => stopProcess(child) }
}

export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/** Resolves when somebody answers on the port. */
export async function untilListening(port: number, child?: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (child && child.exitCode !== null) throw new Error(`the server on ${port} ended at once`)
    if (await accepts(port)) return
    await pause(20)
  }
  throw new Error(`nobody answers on port ${port}`)
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

// Linux has counted in hundredths of a second on every machine for twenty years.
const TICKS_A_SECOND = 100

/** What the process, its threads and all its children have used since they were started; ended children included. */
export function cpuSeconds(root: number): number {
  const all = listProcesses()
  return (
    processTree(root, all).reduce((sum, pid) => sum + (all.get(pid)?.cpuTicks ?? 0), 0) /
    TICKS_A_SECOND
  )
}

/** The same of a server and, if that is another process, of the database server behind it. */
export function cpuOf({ pid, storePid }: { pid: number; storePid?: number }): {
  server: number
  store: number
} {
  return { server: cpuSeconds(pid), store: storePid === undefined ? 0 : cpuSeconds(storePid) }
}

export interface Memory {
  /** Everything resident. */
  rssMb: number
  /** Without pages of files, which the kernel can take back at any time. */
  anonymousMb: number
}

export function memoryOf(root: number): Memory {
  const all = processTree(root, listProcesses()).map((pid) =>
    readFileSync(`/proc/${pid}/status`, 'utf8'),
  )
  const sum = (field: string) =>
    all.reduce(
      (kb, text) => kb + Number(new RegExp(`${field}:\\s+(\\d+)`).exec(text)?.[1] ?? 0),
      0,
    ) / 1024
  return { rssMb: sum('VmRSS'), anonymousMb: sum('RssAnon') }
}

function processTree(root: number, all: ReadonlyMap<number, ProcessStat>): number[] {
  const children = [...all].filter(([, { parent }]) => parent === root).map(([pid]) => pid)
  return [root, ...children.flatMap((pid) => processTree(pid, all))]
}

function listProcesses(): Map<number, ProcessStat> {
  const seen = new Map<number, ProcessStat>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const one = readStat(name)
    if (one) seen.set(Number(name), one)
  }
  return seen
}

function readStat(pid: string): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name stands in brackets and may hold spaces: count from behind it. See proc(5).
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number)
    const cpuTicks = (user ?? 0) + (system ?? 0) + (endedUser ?? 0) + (endedSystem ?? 0)
    return { parent: Number(fields[1]), cpuTicks }
  } catch {
    // It ended between the listing and the look.
    return undefined
  }
}

const SERVER_FOLDERS = [
  '/usr/local/sbin',
  '/usr/sbin',
  ...[17, 15].map((version) => `/usr/lib/postgresql/${version}/bin`),
]

/** Where a program lies. Debian keeps servers in folders that are not on everybody's PATH. */
export function findProgram(command: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':'), ...SERVER_FOLDERS]
  return folders.map((folder) => join(folder, command)).find(isProgram)
}

/** The same, or an error that says what to install. */
export function requireProgram(command: string, debianPackage: string): string {
  const path = findProgram(command)
  if (path) return path
  throw new Error(`${command} is not here. On Debian: apt-get install ${debianPackage}`)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Runs when the program ends, however it ends, the last one first: nothing that was started may outlive it. Must do all
 * its work at once, without awaiting anything.
 */
export function onExit(clear: () => void): void {
  if (cleanups.length === 0) installHandlers()
  cleanups.push(clear)
}

const cleanups: (() => void)[] = []

function installHandlers(): void {
  process.on('exit', () => {
    for (const clear of cleanups.reverse()) clear()
  })
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(signal, () => process.exit(code))
  }
}

/** A folder that is gone when the program ends, and ways to make folders in it. */
export function benchFolder(): { path: string; inside(name: string): string } {
  const path = mkdtempSync(join(tmpdir(), 'bench-'))
  onExit(() => rmSync(path, { recursive: true, force: true, maxRetries: 10 }))
  // Postfix works in it under a user of its own.
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

/** Builds the library that slows fsync down, to be given as LD_PRELOAD. Undefined where there is no compiler. */
export function buildSlowFsync(folder: string): string | undefined {
  const compiler = findProgram('cc')
  if (!compiler || process.platform !== 'linux') return undefined
  const source = fileURLToPath(new URL('slow-fsync.c', import.meta.url))
  const library = join(folder, 'slow-fsync.so')
  execFileSync(compiler, ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'])
  return library
}
