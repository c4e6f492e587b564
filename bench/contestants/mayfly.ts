import {
  freeServicePorts,
  type SpawnOptions,
  spawnService,
} from '../../test/support/service-process.ts'
import { onExit } from '../tools/processes.ts'

export interface Mayfly {
  pid: number
  url: string
  smtpPort: number
  httpPort: number
  session(): Promise<{ email: string; token: string }>
  stop(): Promise<void>
  /** Ends it at once, whatever it is doing. */
  kill(): Promise<void>
}

/** The whole service as a user starts it, with limits out of the way that a load of one sender would meet. */
export async function startMayfly(
  folder: string,
  env: Record<string, string> = {},
  options: Pick<SpawnOptions, 'root' | 'under'> = {},
): Promise<Mayfly> {
  const served = await spawnService({
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
  onExit(() => void served.child.kill('SIGKILL'))
  const { pid, url, smtpPort, httpPort } = served
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
      const code = await served.kill('SIGTERM')
      if (code !== 0) throw new Error(`mayfly ended with ${code}:\n${served.output()}`)
    },
    async kill() {
      await served.kill('SIGKILL')
    },
  }
}
