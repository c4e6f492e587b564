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

/** What the attacker did and was answered. */
export type FloodCounts = Record<string, number>

/** Starts a flood in a process of its own, and resolves when it runs at full speed. */
export async function startFlood(
  name: FloodName,
  { httpPort, smtpPort }: Ports,
  { quick }: { quick: boolean },
): Promise<{ stop(): Promise<FloodCounts> }> {
  const file = fileURLToPath(new URL('flood.ts', import.meta.url))
  const args = [file, name, String(httpPort), String(smtpPort), ...(quick ? ['--quick'] : [])]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onExit(() => void child.kill('SIGKILL'))
  let said = ''
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the flood of ${name} did not start`)))
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk
      if (said.includes('running\n')) resolve()
    })
  })
  return {
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'close')
      return JSON.parse(said.slice(said.indexOf('\n') + 1)) as FloodCounts
    },
  }
}
