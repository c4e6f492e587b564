import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onExit } from './processes.ts'
import type { Ports } from './proxied-client.ts'

export const FLOOD_NAMES = [
  'hostile mails',
  'attachments',
  'streams',
  'metrics',
  'idle connections',
] as const
export type FloodName = (typeof FLOOD_NAMES)[number]

/** Requests, mails and responses by kind. */
export type FloodCounts = Record<string, number>

/** Starts flood.ts as a child process; resolves when the flood is at full rate. */
export async function startFlood(
  name: FloodName,
  { httpPort, smtpPort }: Ports,
  { quick }: { quick: boolean },
): Promise<{ stop(): Promise<FloodCounts> }> {
  const file = fileURLToPath(new URL('flood.ts', import.meta.url))
  const args = [file, name, String(httpPort), String(smtpPort), ...(quick ? ['--quick'] : [])]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onExit(() => void child.kill('SIGKILL'))
  let output = ''
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`flood did not start: ${name}`)))
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
