import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Starts a program of the documentation in a folder of its own, without what the test run has set. */
export function startExample(
  folder: string,
  command: string,
  args: string[],
  env: Record<string, string> = {},
) {
  const { NODE_OPTIONS: _, VITEST: __, ...own } = process.env
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...own, TMPDIR: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const ended = once(child, 'close').then(() => {
    const { exitCode: status, signalCode: signal } = child
    return { status, signal, output }
  })
  return { output: () => output, ended }
}
