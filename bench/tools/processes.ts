import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { atEnd } from './at-end.ts'

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
  atEnd(() => void child.kill('SIGKILL'))
  await listening(Number(args[0]), child)
  return { pid: child.pid ?? 0, stop: () => end(child) }
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/** Resolves when somebody answers on the port. */
export async function listening(port: number, child?: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (child && child.exitCode !== null) throw new Error(`the server on ${port} ended at once`)
    if (await answers(port)) return
    await pause(20)
  }
  throw new Error(`nobody answers on port ${port}`)
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.end()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

interface Seen {
  parent: number
  cpuTicks: number
}

// Linux has counted in hundredths of a second on every machine for twenty years.
const TICKS_A_SECOND = 100

/** What the process, its threads and all its children have used since they were started; ended children included. */
export function cpuSeconds(root: number): number {
  const all = seenProcesses()
  return (
    familyOf(root, all).reduce((sum, pid) => sum + (all.get(pid)?.cpuTicks ?? 0), 0) /
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

export function memory(root: number): Memory {
  const all = familyOf(root, seenProcesses()).map((pid) =>
    readFileSync(`/proc/${pid}/status`, 'utf8'),
  )
  const sum = (field: string) =>
    all.reduce(
      (kb, text) => kb + Number(new RegExp(`${field}:\\s+(\\d+)`).exec(text)?.[1] ?? 0),
      0,
    ) / 1024
  return { rssMb: sum('VmRSS'), anonymousMb: sum('RssAnon') }
}

function familyOf(root: number, all: ReadonlyMap<number, Seen>): number[] {
  const children = [...all].filter(([, { parent }]) => parent === root).map(([pid]) => pid)
  return [root, ...children.flatMap((pid) => familyOf(pid, all))]
}

function seenProcesses(): Map<number, Seen> {
  const seen = new Map<number, Seen>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const one = readStat(name)
    if (one) seen.set(Number(name), one)
  }
  return seen
}

function readStat(pid: string): Seen | undefined {
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
