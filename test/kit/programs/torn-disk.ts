import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { failureOf } from './capabilities.ts'
import { type Disk, isUnmounted, killProcesses, unmountAtExit } from './power-cut.ts'

const SOURCE = fileURLToPath(new URL('torn-disk.c', import.meta.url))
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/', import.meta.url))
const PROGRAM = join(CACHE, 'torn-disk')

/** A disk that can lose, reorder and tear what was not synced, and fail to sync: torn-disk.c. Requires root. */
export interface TornDisk extends Disk {
  cut(name: string, pids: readonly number[]): Promise<TornDisk>
  /** From now on this many of 100 syncs of files whose names end so fail. Returns how many have failed so far. */
  failSyncs(percent: number, ending?: string): Promise<number>
}

interface TornOptions {
  /** Of the first cut; the next ones count up. */
  seed: number
  /** Told at each cut how many writes were not synced, and what became of them. */
  tell?(writes: { unsynced: number; made: number; torn: number }): void
}

export async function makeTornDisk(folder: string, options: TornOptions): Promise<TornDisk> {
  compile()
  mkdirSync(join(folder, 'disk.durable'))
  return await mountTorn(join(folder, 'disk'), options)
}

async function mountTorn(path: string, { seed, tell }: TornOptions): Promise<TornDisk> {
  const [live, durable] = [`${path}.live`, `${path}.durable`]
  execFileSync('cp', ['-a', durable, live])
  mkdirSync(path)
  const child = spawn(PROGRAM, [live, durable, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  await lines.next()
  unmountAtExit(path)
  const command = async (line: string): Promise<string> => {
    child.stdin.write(`${line}\n`)
    return (await lines.next()).value ?? ''
  }
  const end = async () => {
    child.stdin.end()
    await exited
    isUnmounted(path)
  }
  return {
    path,
    async cut(name, pids) {
      const next = join(path, '..', name)
      const answer = await command(`cut ${seed}`)
      killProcesses(pids)
      await end()
      const [, ...counts] = /^(\d+) (\d+) (\d+)$/.exec(answer) ?? []
      const [unsynced, made, torn] = counts.map(Number)
      if (unsynced === undefined || made === undefined || torn === undefined)
        throw new Error(`torn-disk answered "${answer}" to a cut`)
      tell?.({ unsynced, made, torn })
      renameSync(durable, `${next}.durable`)
      return await mountTorn(next, { seed: seed + 1, ...(tell && { tell }) })
    },
    sync: async () => void (await command('sync')),
    failSyncs: async (percent, ending = '') => Number(await command(`eio ${percent} ${ending}`)),
    async remove() {
      await end()
      for (const one of [path, live, durable]) rmSync(one, { recursive: true, force: true })
    },
  }
}

function compile(): void {
  mkdirSync(CACHE, { recursive: true })
  if (existsSync(PROGRAM) && statSync(PROGRAM).mtimeMs > statSync(SOURCE).mtimeMs) return
  const made = `${PROGRAM}.${process.pid}`
  execFileSync('sh', [
    '-c',
    `gcc -O2 -Wall -o "${made}" "${SOURCE}" $(pkg-config --cflags --libs fuse3)`,
  ])
  renameSync(made, PROGRAM)
}

/** Why a torn disk cannot be used here; undefined if it can. */
export function tornDiskProblem(): string | undefined {
  if (!existsSync('/dev/fuse') || process.getuid?.() !== 0) return 'FUSE cannot be used'
  return failureOf('pkg-config', '--exists', 'fuse3') === undefined &&
    failureOf('gcc', '--version') === undefined
    ? undefined
    : 'libfuse cannot be compiled with (Debian: gcc pkg-config libfuse3-dev)'
}
