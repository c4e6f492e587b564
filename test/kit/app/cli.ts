import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { MAIN, ROOT } from './service-process.ts'

export interface CliResult {
  status: number | null
  stdout: string
  stderr: string
}

/** Runs one `mayfly` command in its own process on this data directory, whether a service runs there or not. */
export function runMayfly(folder: string, ...args: string[]): Promise<CliResult> {
  return runMayflyUnder([], folder, ...args)
}

/** The same under another program, such as strace with its options. */
export async function runMayflyUnder(
  under: readonly string[],
  folder: string,
  ...args: string[]
): Promise<CliResult> {
  const [program = '', ...rest] = [...under, process.execPath, MAIN, ...args]
  const child = spawn(program, rest, {
    cwd: ROOT,
    env: { ...process.env, MAYFLY_DATA: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  })
  const ended = once(child, 'exit')
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  await ended
  return { status: child.exitCode, stdout, stderr }
}

export interface IssuedKey {
  id: string
  key: string
  prefix: string
}

/** Runs `mayfly key issue --json`. */
export async function issueKey(folder: string, plan = 'starter'): Promise<IssuedKey> {
  const { stdout, stderr } = await runMayfly(folder, 'key', 'issue', '--plan', plan, '--json')
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout)
}
