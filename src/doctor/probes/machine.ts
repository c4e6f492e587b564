import { execFile } from 'node:child_process'
import { type FileHandle, mkdtemp, open, rm, stat, statfs } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { dataDirectoryFault, foreignFiles, giveFiles } from '../../base/data-directory.ts'
import { diskSpace } from '../../base/disk-space.ts'
import type { DataDirectory } from '../rules/machine-rules.ts'

const SYNCS = 5

export async function inspectDataDirectory(
  folder: string,
  { minFreeBytes: minFree, use }: { minFreeBytes: number | 'auto'; use: DataDirectory['use'] },
): Promise<DataDirectory> {
  const path = resolve(folder)
  const ownUid = process.getuid?.() ?? 0
  const fault = dataDirectoryFault(path)
  const found = await stat(path).catch(() => undefined)
  const uid = found?.uid ?? ownUid
  const facts = {
    ...{ path, use, exists: found !== undefined, ownUid, uid, fault, foreign: undefined },
    ...{ mode: 0o700, freeBytes: 0, minFreeBytes: 0, freeInodes: undefined, fsyncMs: 0 },
  }
  if (fault || !found) return facts
  const { free: freeBytes, least: minFreeBytes } = diskSpace(path, minFree)
  const { files, ffree } = await statfs(path)
  const others = foreignFiles(path)
  const seen = `${others.join(', ')}: of another user than the directory (${uid})`
  return {
    ...{ ...facts, mode: found.mode & 0o777, freeBytes, minFreeBytes },
    // Some file systems create inodes as needed.
    freeInodes: files === 0 ? undefined : ffree,
    foreign: others.length === 0 ? undefined : { seen, fix: giveFiles(path) },
    fsyncMs: uid === ownUid ? await syncMs(path) : undefined,
  }
}

/** The median time of an fsync. */
async function syncMs(path: string): Promise<number> {
  const folder = await mkdtemp(join(path, '.check-'))
  let file: FileHandle | undefined
  try {
    file = await open(join(folder, 'sync'), 'w')
    const times: number[] = []
    for (let round = 0; round < SYNCS; round += 1) {
      const start = performance.now()
      await file.write(Buffer.alloc(4_096))
      await file.sync()
      times.push(performance.now() - start)
    }
    return times.sort((a, b) => a - b)[Math.floor(SYNCS / 2)] ?? 0
  } finally {
    await file?.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** What systemd says; undefined without it. */
export async function clockSynchronized(): Promise<boolean | undefined> {
  try {
    const args = ['show', '--property=NTPSynchronized', '--value']
    const { stdout } = await promisify(execFile)('timedatectl', args, { timeout: 3_000 })
    return stdout.trim() === '' ? undefined : stdout.trim() === 'yes'
  } catch {
    return undefined
  }
}
