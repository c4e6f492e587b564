import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * What keeps a child from sending signals to the service. Node's permissions do not cover `process.kill`, and a process may signal
 * every other of the same user.
 */
export type Isolation =
  /** It runs as another user. Only root may start such a child. */
  | { kind: 'user'; uid: number; gid: number }
  /** It sees no process but itself; the command starts a program so. */
  | { kind: 'pid namespace'; command: readonly [string, ...string[]] }
  /** The system offers neither: a child that a mail has taken over could end the service. */
  | { kind: 'none' }

const NONE: Isolation = { kind: 'none' }
const NOBODY = 65_534
// capabilities(7)
const CAP_KILL = 1n << 5n
const PROBE_MS = 10_000
const UNSHARE = ['/usr/bin/unshare', '/bin/unshare']
// --fork: the namespace is that of the children of `unshare`. --kill-child: they end with it.
const UNSHARE_FLAGS = ['--user', '--map-current-user', '--pid', '--fork', '--kill-child', '--']

let detected: Isolation | undefined

/** The strongest that is permitted here. Tried out once: it takes as long as starting Node does. */
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

/** Whether a child may be started so, can read its code there, and can be ended by us. */
function isPermitted(isolation: Isolation): boolean {
  if (!canKill(isolation)) return false
  const read = ['./process.ts', '../../package.json'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  const program = `for (const path of ${JSON.stringify(read)}) require('node:fs').readFileSync(path)`
  const { command, argv, options } = launchCommand(isolation, ['--eval', program])
  const { status } = spawnSync(command, argv, {
    ...options,
    env: {},
    stdio: 'ignore',
    timeout: PROBE_MS,
    killSignal: 'SIGKILL',
  })
  return status === 0
}

/** Without this capability even root may not end the processes of others, such as a child that spins. */
function canKill({ kind }: Isolation): boolean {
  if (kind !== 'user') return true
  const status = readFileSync('/proc/self/status', 'latin1')
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`)
  return (effective & CAP_KILL) !== 0n
}

/** How Node is started with these arguments under this isolation. */
export function launchCommand(isolation: Isolation, nodeArgs: readonly string[]) {
  if (isolation.kind === 'user') {
    const { uid, gid } = isolation
    return { command: process.execPath, argv: [...nodeArgs], options: { uid, gid } }
  }
  if (isolation.kind === 'pid namespace') {
    const [command, ...flags] = isolation.command
    // A session of its own: signals to the process group would reach us from any namespace.
    const options = { detached: true }
    return { command, argv: [...flags, process.execPath, ...nodeArgs], options }
  }
  return { command: process.execPath, argv: [...nodeArgs], options: {} }
}
