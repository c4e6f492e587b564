import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { BODY_FLOODS } from './body-floods.ts'
import { onExit } from './processes.ts'
import type { Ports } from './proxied-client.ts'

export const FLOOD_NAMES = [
  'hostile mails',
  'large reads',
  'bursts of large reads',
  'attachments',
  'streams',
  'metrics',
  'idle connections',
  ...BODY_FLOODS,
] as const
export type FloodName = (typeof FLOOD_NAMES)[number]

/** Requests, mails and responses by kind. */
export type FloodCounts = Record<string, number>

/** Starts flood.ts as a child process; resolves when the flood is at full rate. */
export function startFlood(
  name: FloodName,
  { httpPort, smtpPort }: Ports,
  { quick, key }: { quick: boolean; key: string },
): Promise<LoadProcess> {
  const args = [name, String(httpPort), String(smtpPort), key, ...(quick ? ['--quick'] : [])]
  return startLoadProcess('flood.ts', args)
}

interface LoadProcess {
  stop(): Promise<FloodCounts>
}

async function startLoadProcess(file: string, args: readonly string[]): Promise<LoadProcess> {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  onExit(() => void child.kill('SIGKILL'))
  let output = ''
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`load did not start: ${args[0]}`)))
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk
      if (output.includes('running\n')) resolve()
    })
  })
  return {
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'close')
      return JSON.parse(output.slice(output.indexOf('\n') + 1)) as FloodCounts
    },
  }
}
