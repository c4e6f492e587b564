import { spawnSync } from 'node:child_process'
import { beforeEach, type TestContext } from 'vitest'

// What only a privileged user may do is tried: root in a container may lack the capability.

/** Why this command fails; undefined if it succeeds. */
export function failureOf(command: string, ...args: string[]): string | undefined {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
  return status === 0 ? undefined : (error?.message ?? stderr.trim())
}

/** Why no file system can be mounted here; undefined if one can. */
export const mountProblem = failureOf('unshare', '--mount', 'mount', '-t', 'tmpfs', 'none', '/tmp')

/** For the tests around the call: they are skipped with the reason where there is a problem. In CI, they fail. */
export function skipIfProblem(problem: string | undefined): void {
  beforeEach((context) => skipOrFail(problem, context))
}

export function skipOrFail(problem: string | undefined, context: Pick<TestContext, 'skip'>): void {
  if (problem !== undefined && process.env['CI']) throw new Error(problem)
  if (problem !== undefined) context.skip(problem)
}
