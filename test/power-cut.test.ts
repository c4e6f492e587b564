import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { freeServicePorts, spawnService } from './kit/app/service-process.ts'
import { createSession } from './kit/http/api-client.ts'
import { copyWithMutations, FSYNC_UNCHECKED, SYNCHRONOUS_NORMAL } from './kit/mutation.ts'
import {
  type LoopDisk,
  loopDiskProblem,
  makeLoopDisk,
  pauseProcesses,
} from './kit/programs/power-cut.ts'
import { endWithParent } from './kit/programs/server-process.ts'
import { skipIfProblem } from './kit/skip.ts'
import {
  type LedgerLine,
  ledgerFaults,
  openLedger,
  sendUntilStopped,
  type TestMailbox,
} from './kit/store/ledger.ts'
import { openPostgres } from './kit/store/postgres.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'
import { waitUntil } from './kit/wait-until.ts'

// What a power cut leaves. All data lies on an ext4 image that is mounted through a loop device. Under load every process
// of the installation is stopped and the image file is copied: what ext4 has submitted to the device is in the copy, what
// exists only in the page cache of the mounted file system is not. The copy is mounted (the journal is replayed) and
// served by a new instance, which must have every mail that was acknowledged before the stop.
//
// Shown: each 250 is preceded by enough syncs that file contents, file sizes and directory entries have been handed to
// the device, and both engines recover from such a disk.
// Not shown: a device that loses or reorders what it was handed but not told to flush (whatever was handed over is in the
// copy), a torn sector, and a cut in the middle of a system call (the processes are stopped between two of them).
// That the sync comes before the 250 and after the last write is shown by fsync.test.ts.

const CUTS = 20
const CONTROL_CUTS = 3
const SENDERS = 8
const BOXES = 20
const ROOM = { MAYFLY_SESSION_MAX_MESSAGES: '100000', MAYFLY_SESSION_MAX_BYTES: '10GB' }

skipIfProblem(loopDiskProblem())

interface Engine {
  start(disk: LoopDisk, root?: string): Promise<Installation>
  mutation: typeof SYNCHRONOUS_NORMAL
}

interface Installation {
  url: string
  smtpPort: number
  /** Every process of the installation is one of these or a descendant. */
  pids: number[]
  kill(): Promise<void>
}

const ENGINES: Record<string, Engine> = {
  SQLite: {
    start: (disk, root) => startService(disk, { root }),
    mutation: SYNCHRONOUS_NORMAL,
  },
  PostgreSQL: {
    start: (disk, root) => startOnPostgres(disk, { root, fsync: root ? 'off' : 'on' }),
    mutation: FSYNC_UNCHECKED,
  },
}

// The service starts 46 times: about 200 s of CPU in all, and far longer than that on a busy machine.
vi.setConfig({ testTimeout: 900_000 })

for (const [name, engine] of Object.entries(ENGINES)) {
  test(`${name}: every mail acknowledged before a power cut is there afterwards`, async () => {
    const { checked, missing } = await cutPower(engine, { cuts: CUTS })
    expect(missing).toStrictEqual([])
    process.stdout.write(`${name}: ${checked} mails looked for after ${CUTS} cuts, all there\n`)
  })

  test(`${name}: mail is lost when commits are not synced (control)`, async () => {
    const copy = tempFolder(DISK)
    const root = copyWithMutations(copy.path, engine.mutation)
    const { checked, missing } = await cutPower(engine, { cuts: CONTROL_CUTS, root }).finally(
      copy.remove,
    )
    process.stdout.write(`${name} without sync: ${missing.length} of ${checked} mails missing\n`)
    expect(missing.length).toBeGreaterThan(0)
  })
}

/** Cuts the power this many times under load. Each cut is checked for all mails acknowledged before it. */
async function cutPower(
  engine: Engine,
  { cuts, root }: { cuts: number; root?: string },
): Promise<{ checked: number; missing: string[] }> {
  const folder = tempFolder(DISK)
  const cleanup: (() => unknown)[] = [folder.remove]
  try {
    // PostgreSQL's user needs access to its data.
    chmodSync(folder.path, 0o755)
    const disk = makeLoopDisk(folder.path, 'disk')
    cleanup.push(disk.remove)
    const ledger = openLedger(join(folder.path, 'ledger'))
    cleanup.push(ledger.close)
    const { url, smtpPort, pids, kill } = await engine.start(disk, root)
    cleanup.push(kill)
    const boxes = await Promise.all(Array.from({ length: BOXES }, () => createSession(url)))
    // The control may lose only mail: without its tables it would not even start.
    if (root) syncDisk(disk)

    let stopping = false
    const sending = { smtpPort, ledger, stopped: () => stopping }
    const senders = Array.from({ length: SENDERS }, () => sendUntilStopped(boxes, sending))
    cleanup.push(() => {
      stopping = true
      return Promise.all(senders)
    })
    const found = { checked: 0, missing: [] as string[] }
    for (let cut = 1; cut <= cuts; cut += 1) {
      const before = ledger.read().length
      await waitUntil(() => ledger.read().length >= before + SENDERS)
      await pause(Math.random() * 200)
      const resume = await pauseProcesses(pids)
      try {
        const copy = await disk.copy(`cut-${cut}`)
        // All replies sent before the stop have been read and recorded by now: nothing sends any more.
        const lines = ledger.read()
        found.checked += lines.length
        found.missing.push(...(await missingOn(copy, { engine, root, boxes, lines })))
      } finally {
        resume()
      }
    }
    return found
  } finally {
    for (const clean of cleanup.reverse()) await clean()
  }
}

interface Expected {
  engine: Engine
  root: string | undefined
  boxes: readonly TestMailbox[]
  lines: readonly LedgerLine[]
}

/** Starts a service on the copied disk, checks its mail, and removes it. */
async function missingOn(
  copy: LoopDisk,
  { engine, root, boxes, lines }: Expected,
): Promise<string[]> {
  try {
    const { url, kill } = await engine.start(copy, root)
    return await ledgerFaults(url, boxes, lines).finally(kill)
  } finally {
    await copy.remove()
  }
}

async function startService(
  disk: LoopDisk,
  { root, env }: { root?: string | undefined; env?: Record<string, string> },
): Promise<Installation> {
  const served = await spawnService({
    folder: join(disk.path, 'data'),
    ports: await freeServicePorts(),
    env: { ...ROOM, ...env },
    under: endWithParent([]),
    ...(root && { root }),
  })
  const { url, smtpPort, pid } = served
  return { url, smtpPort, pids: [pid], kill: async () => void (await served.kill('SIGKILL')) }
}

async function startOnPostgres(
  disk: LoopDisk,
  { root, fsync }: { root: string | undefined; fsync: 'on' | 'off' },
): Promise<Installation> {
  const cluster = join(disk.path, 'cluster')
  const pidFile = join(cluster, 'postmaster.pid')
  // In the copy it names the stopped server, which is still alive; after a power cut it would not be.
  rmSync(pidFile, { force: true })
  const postgres = await openPostgres({ cluster, settings: [`fsync=${fsync}`] })
  try {
    const [exists] = await postgres.run("select 1 from pg_database where datname = 'mayfly'")
    if (!exists) {
      await postgres.run('create database mayfly template template0')
      // The tests run initdb without its own sync.
      syncDisk(disk)
    }
    const service = await startService(disk, {
      root,
      env: { MAYFLY_STORE: postgres.urlOf('mayfly') },
    })
    const server = Number(readFileSync(pidFile, 'utf8').split('\n', 1)[0])
    return {
      ...service,
      pids: [...service.pids, server],
      async kill() {
        await service.kill()
        await postgres.close()
      },
    }
  } catch (error) {
    await postgres.close()
    throw error
  }
}

function syncDisk({ path }: LoopDisk): void {
  execFileSync('sync', ['-f', path])
}
