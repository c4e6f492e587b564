import { type CheckResult, failure, ok, skipped, warning } from '../../base/check-result.ts'
import type { Fault } from '../../base/fault.ts'

const MB = 1024 * 1024

export interface DataDirectory {
  path: string
  /** What is kept there: mail, only the self-signed certificate, or nothing. */
  use: 'mail' | 'certificate' | 'nothing'
  /** The service creates it at its first start. */
  exists: boolean
  /** Why files cannot be created there; undefined if they can. */
  fault: Fault | undefined
  /** Files of the service with another owner, and how to give them to it; undefined if there are none. */
  foreign: Fault | undefined
  uid: number
  /** The user that runs the check. */
  ownUid: number
  /** Permission bits. */
  mode: number
  freeBytes: number
  /** Of the file system; undefined if it has no limit. */
  freeInodes: number | undefined
  /** Below this, mail is deferred. */
  minFreeBytes: number
  /** Undefined if it was not measured: files of root would be in the way of the service. */
  fsyncMs: number | undefined
}

const SLOW_FSYNC_MS = 50
// Log files, backups and temporary files of SQLite.
const MIN_INODES = 100
const ROOT = 0

export function evaluateDataDirectory(data: DataDirectory): CheckResult {
  if (data.use === 'nothing') return skipped('not used')
  return accessFault(data) ?? evaluateSpace(data)
}

/** Whether the service can keep its files there. */
function accessFault(data: DataDirectory): CheckResult | undefined {
  const { path, fault, foreign, uid, ownUid } = data
  const run = `Run it as the user of the service: setpriv --reuid ${uid} --clear-groups`
  const ofRoot = `If the service runs as user ${ownUid}, give it the directory: chown -R ${ownUid} ${path}\nIf it runs as root, run this command as root`
  if (uid !== ownUid && ownUid !== ROOT) {
    const seen = `${path} belongs to user ${uid}, and user ${ownUid} runs this command`
    return failure(seen, uid === ROOT ? ofRoot : run)
  }
  if (fault) return failure(fault.seen, fault.fix)
  // If the service runs as root, it can write to them.
  return foreign && warning(foreign.seen, foreign.fix)
}

function evaluateSpace(data: DataDirectory): CheckResult {
  const { path, use, mode, freeBytes, minFreeBytes, fsyncMs } = data
  const isMail = use === 'mail'
  const sync = fsyncMs === undefined ? '' : `, fsync ${fsyncMs.toFixed(1)} ms`
  const seen = `${path}: ${Math.floor(freeBytes / MB)} MB free${sync}`
  const full = `${seen}: below ${Math.floor(minFreeBytes / MB)} MB mail is deferred with 452`
  const free = 'Free some space, move MAYFLY_DATA to a larger disk, or lower MAYFLY_MIN_FREE'
  if (isMail && freeBytes < minFreeBytes) return failure(full, free)
  const { freeInodes = MIN_INODES } = data
  const inodes = `Delete files you do not need: df -i ${path}`
  if (freeInodes < MIN_INODES)
    return warning(`${path}: the file system has only ${freeInodes} inodes left`, inodes)
  const open = `${path} has mode ${mode.toString(8)}: others can look inside`
  if ((mode & 0o077) !== 0) return warning(open, `chmod 700 ${path}`)
  if (isMail && freeBytes < 2 * minFreeBytes) return warning(full, free)
  const slow = `${seen}: slow, each mail waits for one`
  if (isMail && (fsyncMs ?? 0) > SLOW_FSYNC_MS)
    return warning(slow, 'Use a local SSD for MAYFLY_DATA')
  return ok(seen)
}

export interface LimitFacts {
  /** Of open files, for the running service; undefined if unknown, like the others. */
  maxFiles: number | undefined
  /** HTTP connections that it allows itself. */
  connections: number | undefined
  /** MAYFLY_HTTP_CONNECTIONS. */
  wanted: number
  memoryBytes: number | undefined
}

const MIN_MEMORY_MB = 256

/** Limits of the system for the running service. */
export function evaluateLimits(facts: LimitFacts): CheckResult {
  const { maxFiles, connections, wanted, memoryBytes } = facts
  if (maxFiles === undefined || memoryBytes === undefined)
    return skipped('the service does not say')
  const memory = Math.floor(memoryBytes / MB)
  const more = `Give it at least 512 MB: MemoryMax=512M in the systemd unit, or mem_limit: 512m of the container (docs/operations.md)`
  if (memory < MIN_MEMORY_MB)
    return warning(`${memory} MB of memory: the service may be killed under load`, more)
  const seen = `${maxFiles} open files, ${memory} MB of memory`
  const raise = `LimitNOFILE=65536 in the systemd unit, ulimits: nofile of the container, or ulimit -n 65536; or lower MAYFLY_HTTP_CONNECTIONS`
  if (connections !== undefined && connections < wanted)
    return warning(`${seen}: only ${connections} of ${wanted} HTTP connections are possible`, raise)
  return ok(seen)
}
