// What the npm package exports. It loads the service only once the version is known: Node.js checks all imports before it runs a line.

export interface Mayfly {
  httpPort: number
  smtpPort: number
  /** Completes mail in progress, then stops. */
  stop(): Promise<void>
}

const NEEDED_NODE = 24

/**
 * Starts the service in this process, for example in a test suite. Settings have the names that `mayfly config` lists, such as
 * `MAYFLY_DATA`; the environment is not read. Port 0 takes a free port. An unexpected end of a thread is an uncaught exception.
 */
export async function startMayfly(settings: Readonly<Record<string, string>>): Promise<Mayfly> {
  const { node } = process.versions
  if (Number.parseInt(node, 10) < NEEDED_NODE)
    throw new Error(`Mayfly needs Node.js ${NEEDED_NODE} or newer, and this is ${node}.`)
  const [{ openLog }, { readConfig }, { startService }] = await Promise.all([
    import('../base/log/open-log.ts'),
    import('./config.ts'),
    import('./start.ts'),
  ])
  const { config } = readConfig({ env: { ...settings }, file: {}, rejectsUnknown: true })
  const { httpPort, smtpPort, stop } = await startService(config, {
    log: openLog({ level: config.logLevel, thread: 'main' }),
    died(fault) {
      queueMicrotask(() => {
        throw fault
      })
    },
  })
  return { httpPort, smtpPort, stop }
}
