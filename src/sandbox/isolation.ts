import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * How a child is kept from sending signals to the service. Node's permission model does not cover `process.kill`, and a
 * process may signal every process of the same user.
 */
export type Isolation =
  /** The child runs as another user; requires root. */
  | { kind: 'user'; uid: number; gid: number }
  /** The child sees no other process; `command` starts a program in a new namespace. */
  | { kind: 'pid namespace'; command: readonly [string, ...string[]] }
  /** Neither is available: a compromised child could kill the service. */
  | { kind: 'none' }

const NONE: Isolation = { kind: 'none' }
const NOBODY = 65_534
// capabilities(7)
const CAP_KILL = 1n << 5n
const PROBE_MS = 10_000
const CAT = '/bin/cat'
const READ_ALL = `process.argv.slice(1).forEach((path) => require('node:fs').readFileSync(path))`
const UNSHARE = ['/usr/bin/unshare', '/bin/unshare']
// --fork: only children of `unshare` are in the namespace. --kill-child: they end with it.
const UNSHARE_FLAGS = ['--user', '--map-current-user', '--pid', '--fork', '--kill-child', '--']

let detected: Isolation | undefined

/** The strongest isolation that works here. Probed once. */
export function childIsolation(): Isolation {
  detected ??= candidates().find(isPermitted) ?? NONE
  return detected
}

function candidates(): Isolation[] {
  if (process.platform !== 'linux') return []
  if (process.getuid?.() === 0) return [{ kind: 'user', uid: NOBODY, gid: NOBODY }]
  const unshare = UNSHARE.find((path) => existsSync(path))
  return unshare ? [{ kind: 'pid namespace', command: [unshare, ...UNSHARE_FLAGS] }] : []
}

/** Whether such a child can be started, can read its code, and can be killed by us. */
function isPermitted(isolation: Isolation): boolean {
  if (!canKill(isolation)) return false
  const manifest = '../../package.json'
  const read = [import.meta.filename, fileURLToPath(new URL(manifest, import.meta.url))]
  // A program in Node takes six times as long to start.
  const programs = existsSync(CAT)
    ? [
        [process.execPath, '--version'],
        [CAT, ...read],
      ]
    : [[process.execPath, '--eval', READ_ALL, ...read]]
  return programs.every((program) => {
    const { command, argv, options } = launchCommand(isolation, program)
    const { status } = spawnSync(command, argv, {
      ...options,
      env: {},
      stdio: 'ignore',
      timeout: PROBE_MS,
      killSignal: 'SIGKILL',
    })
    return status === 0
  })
}

/** Without CAP_KILL, root cannot kill processes of other users. */
function canKill({ kind }: Isolation): boolean {
  if (kind !== 'user') return true
  const status = readFileSync('/proc/self/status', 'latin1')
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`)
  return (effective & CAP_KILL) !== 0n
}

/** How to start a program, given with its arguments. */
export function launchCommand(isolation: Isolation, program: readonly string[]) {
  const [command = '', ...argv] =
    isolation.kind === 'pid namespace' ? [...isolation.command, ...program] : program
  return { command, argv, options: launchOptions(isolation) }
}

function launchOptions(isolation: Isolation) {
  if (isolation.kind === 'user') return { uid: isolation.uid, gid: isolation.gid }
  // A new session: signals to the process group would reach us even from another PID namespace.
  return isolation.kind === 'pid namespace' ? { detached: true } : {}
}
