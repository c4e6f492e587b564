import type { CheckConfig } from './checks.ts'
import { type CheckRunDeps, startChecks } from './daily-checks.ts'
import type { CheckOptions } from './facts.ts'

interface JobDeps
  extends Pick<CheckRunDeps, 'now'>,
    Pick<CheckOptions, 'log' | 'settings' | 'inspectServer'> {
  config: CheckConfig & { dailyChecks: boolean }
  store: CheckRunDeps['store'] & NonNullable<CheckOptions['store']>
}

/** The checks of `mayfly doctor`, by the service. */
export function startCheckJob({ config, settings, ...deps }: JobDeps) {
  const openChecks = async () => {
    // Loaded when needed: nothing else of the service uses the probes.
    const loaded = await import('./checks.ts')
    return await loaded.openChecks(config, { ...deps, settings })
  }
  const { commands, stop } = startChecks({ ...deps, openChecks }, { isDaily: config.dailyChecks })
  // They would find what is shutting down.
  return { commands, stop, drain: stop }
}
