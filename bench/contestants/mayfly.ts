import {
  freeServicePorts,
  type SpawnOptions,
  spawnService,
} from '../../test/kit/app/service-process.ts'
import { onExit } from '../tools/processes.ts'

export interface Mayfly {
  pid: number
  url: string
  smtpPort: number
  httpPort: number
  session(): Promise<{ email: string; token: string }>
  stop(): Promise<void>
  kill(): Promise<void>
}

/** Runs `mayfly serve` without the limits that a single load generator would hit. */
export async function startMayfly(
  folder: string,
  env: Record<string, string> = {},
  options: Pick<SpawnOptions, 'root' | 'command' | 'under'> = {},
): Promise<Mayfly> {
  const service = await spawnService({
    ...options,
    folder,
    ports: await freeServicePorts(),
    env: {
      MAYFLY_RATE_LIMITS: 'off',
      MAYFLY_SESSION_MAX_MESSAGES: '1000000',
      MAYFLY_SESSION_MAX_BYTES: '1000GB',
      MAYFLY_LOG_LEVEL: 'warn',
      MAYFLY_AUTH_CHECKS: 'off',
      ...env,
    },
  })
  onExit(() => void service.child.kill('SIGKILL'))
  const { pid, url, smtpPort, httpPort } = service
  return {
    pid,
    url,
    smtpPort,
    httpPort,
    async session() {
      const response = await fetch(`${url}/api/create-session`, { method: 'POST' })
      if (response.status !== 200) throw new Error(await response.text())
      return (await response.json()) as { email: string; token: string }
    },
    async stop() {
      const code = await service.kill('SIGTERM')
      if (code !== 0) throw new Error(`mayfly exited with ${code}:\n${service.output()}`)
    },
    async kill() {
      await service.kill('SIGKILL')
    },
  }
}
