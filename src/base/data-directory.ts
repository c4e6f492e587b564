import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Fault } from './fault.ts'
import { hasErrorCode, toError } from './problem.ts'

/** Why the service cannot keep its files there; undefined if it can. */
export function dataDirectoryFault(path: string): Fault | undefined {
  try {
    // A file of root would be in the way of the service.
    if (statSync(path).uid === process.getuid?.()) writeOnce(path)
    else accessSync(path, constants.W_OK)
    return fileFault(path)
  } catch (error) {
    return directoryFault(path, toError(error))
  }
}

/** As the service does it: that a disk is full shows only when something is written. */
function writeOnce(path: string): void {
  const folder = mkdtempSync(join(path, '.check-'))
  try {
    writeFileSync(join(folder, 'file'), Buffer.alloc(4_096), { flush: true })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Creates it if it does not exist. */
export function createDataDirectory(path: string): Fault | undefined {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    return directoryFault(path, toError(error))
  }
  return dataDirectoryFault(path)
}

const SPACE = 'Free some space, or move MAYFLY_DATA to a larger disk'

function directoryFault(path: string, error: NodeJS.ErrnoException): Fault {
  const { code = '' } = error
  const user = process.getuid?.() ?? 0
  switch (code) {
    case 'ENOENT':
      return {
        seen: `${path} does not exist`,
        fix: `Create it as the user of the service: install -d -m 700 ${path}`,
      }
    case 'ENOTDIR':
    case 'EEXIST':
      return {
        seen: `${path} is not a directory`,
        fix: 'Set MAYFLY_DATA to a directory',
      }
    case 'EROFS':
      return {
        seen: `${path} is on a read-only file system`,
        fix: `Make it writable: mount -o remount,rw "$(findmnt -nT ${path} -o TARGET)"; with systemd, name it in ReadWritePaths= or StateDirectory= of the unit. The kernel also does this after a disk error: see dmesg`,
      }
    case 'ENOSPC':
      return isOutOfInodes(path)
        ? {
            seen: `${path}: the file system has no inodes left`,
            fix: `Delete files you do not need; df -i ${path} shows how many are left`,
          }
        : { seen: `${path}: the disk is full`, fix: SPACE }
    case 'EDQUOT':
      return { seen: `${path}: the disk quota of user ${user} is used up`, fix: SPACE }
    case 'EACCES':
    case 'EPERM':
      return {
        seen: `${path}: user ${user} may not create files there`,
        fix: `If the service runs as user ${user}, give it the directory: chown -R ${user} ${path}. Otherwise run this command as the user of the service`,
      }
    default:
      return { seen: `${path}: ${error.message}`, fix: 'Repair the file system: see dmesg' }
  }
}

function isOutOfInodes(path: string): boolean {
  try {
    const { files, ffree } = statfsSync(path)
    return files > 0 && ffree === 0
  } catch {
    return false
  }
}

const OURS = /^(?:(?:mail|shop|lock)\.db(?:-wal|-shm)?|smtp-tls\.pem)$/

/** Files of the service that belong to somebody other than their directory: a command of root, or a restored copy, leaves them. */
export function foreignFiles(path: string): string[] {
  const { uid } = statSync(path)
  return ownFiles(path).filter((file) => {
    const found = statSync(file, { throwIfNoEntry: false })
    return found !== undefined && found.uid !== uid
  })
}

export const giveFiles = (path: string) =>
  `Give all files to the user of the service: chown -R --reference=${path} ${path}`

function ownFiles(path: string): string[] {
  const names = readdirSync(path).filter((name) => OURS.test(name))
  return names.map((name) => join(path, name))
}

function fileFault(path: string): Fault | undefined {
  const file = ownFiles(path).find((one) => !isWritable(one))
  if (file === undefined) return undefined
  const seen = `user ${process.getuid?.()} may not write to ${file}`
  return { seen, fix: giveFiles(path) }
}

function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK | constants.W_OK)
    return true
  } catch (error) {
    // SQLite removes its log when the last connection is closed.
    return hasErrorCode(error, 'ENOENT')
  }
}
