import { existsSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from '../problem.ts'

/** Whose files root may use. */
interface Trusted {
  uids: readonly number[]
  gids: readonly number[]
}

/**
 * Throws if this is root and somebody else could have written the settings: they name files to read and servers that get secrets, and
 * `mayfly setup` writes beside them. Root is trusted, and whoever became root by sudo. If there is no file yet, only its directory matters.
 */
export function requireTrusted(path: string): void {
  if (!existsSync(dirname(path))) {
    throw new OperatorError(`The directory ${dirname(path)} does not exist.`)
  }
  if (process.getuid?.() !== 0) return
  const reason = distrust(path, {
    uids: [0, ...idOf(process.env['SUDO_UID'])],
    gids: [0, ...idOf(process.env['SUDO_GID'])],
  })
  if (reason === undefined) return
  throw new OperatorError(
    `${path} is not used by root: ${reason}. Run the command in another directory or as another user, or correct the permissions.`,
  )
}

const idOf = (text: string | undefined) => (/^\d+$/.test(text ?? '') ? [Number(text)] : [])

/** Why others than these can change the file, or could have created it. */
export function distrust(path: string, trusted: Trusted): string | undefined {
  const target = statSync(path, { throwIfNoEntry: false }) && realpathSync(path)
  const folder = realpathSync(dirname(path))
  // Through a symbolic link, the folder of the link and that of the file.
  const folders = new Set([folder, ...(target === undefined ? [] : [dirname(target)])])
  const reasons = [...folders].map((each) => distrustFolder(each, trusted))
  if (target !== undefined) reasons.push(distrustOne(target, statSync(target), trusted))
  return reasons.find((reason) => reason !== undefined)
}

const STICKY = 0o1000

function distrustFolder(folder: string, trusted: Trusted): string | undefined {
  const reason = distrustOne(folder, statSync(folder), trusted)
  if (reason !== undefined) return reason
  for (let above = dirname(folder); ; above = dirname(above)) {
    const stats = statSync(above)
    // In a folder like /tmp, others cannot replace a folder that is not theirs.
    const isSticky = (stats.mode & STICKY) !== 0 && trusted.uids.includes(stats.uid)
    const found = isSticky ? undefined : distrustOne(above, stats, trusted)
    if (found !== undefined || above === dirname(above)) return found
  }
}

function distrustOne(path: string, { uid, gid, mode }: Stats, trusted: Trusted) {
  if (!trusted.uids.includes(uid)) return `${path} belongs to user ${uid}`
  if ((mode & 0o002) !== 0) return `everybody can write to ${path}`
  if ((mode & 0o020) !== 0 && !trusted.gids.includes(gid))
    return `group ${gid} can write to ${path}`
  return undefined
}
