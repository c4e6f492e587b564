import { spawnSync } from 'node:child_process'

// What only a privileged user may do is tried: root in a container may lack the capability.

/** Why this command fails; undefined if it succeeds. */
export function failureOf(command: string, ...args: string[]): string | undefined {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
  return status === 0 ? undefined : (error?.message ?? stderr.trim())
}

/** Why no file system can be mounted here; undefined if one can. */
export const mountProblem = failureOf('unshare', '--mount', 'mount', '-t', 'tmpfs', 'none', '/tmp')
