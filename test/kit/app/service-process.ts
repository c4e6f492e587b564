import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { freePorts } from '../programs/server-process.ts'
import { pauseAfter } from '../wait-until.ts'

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** The program, relative to its root; in vitest the build of setup/bundle.ts. */
export const SOURCE = 'bin/mayfly.js'
export const { MAYFLY_TEST_MAIN: MAIN = SOURCE } = process.env

const START_MS = 60_000

export interface ServiceProcess {
  child: ChildProcess
  pid: number
  url: string
  httpPort: number
  smtpPort: number
  /** Everything printed so far. */
  output(): string
  /** Its exit code, once it has exited. */
  exited: Promise<number | null>
  kill(signal: NodeJS.Signals): Promise<number | null>
}

export interface SpawnOptions {
  folder: string
  ports: { http: number; smtp: number }
  /** The address to listen on; by default loopback. */
  host?: string
  env?: Record<string, string>
  /** The root folder of another copy of the program. */
  root?: string
  /** How it is started; by default with the Node.js of this process. */
  command?: readonly string[]
  /** A program to run it under, such as strace, with its options. */
  under?: string[]
  /** To resolve as soon as the first of its threads serves HTTP. */
  eager?: boolean
}

/** Runs `mayfly serve` in its own process. Resolves when it serves HTTP. */
export async function spawnService(options: SpawnOptions): Promise<ServiceProcess> {
  const {
    folder,
    ports,
    host = '127.0.0.1',
    env = {},
    root = ROOT,
    command = [process.execPath, root === ROOT ? MAIN : SOURCE, 'serve'],
    under = [],
    eager = false,
  } = options
  const [program = '', ...args] = [...under, ...command]
  const child = spawn(program, args, {
    cwd: root,
    env: {
      ...process.env,
      MAYFLY_DATA: folder,
      MAYFLY_HOST: host,
      MAYFLY_HTTP_PORT: String(ports.http),
      MAYFLY_SMTP_PORT: String(ports.smtp),
      MAYFLY_DOMAINS: 'box.test,pool.test',
      MAYFLY_READER_DOMAINS: 'pool.test',
      MAYFLY_AUTH_CHECKS: 'off',
      MAYFLY_HTTP_THREADS: '1',
      MAYFLY_SMTP_THREADS: '1',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = () => void child.kill('SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  child.stderr?.on('data', (chunk) => {
    output += chunk
  })
  // Not "exit", which may come before the last lines of its output.
  const ended = once(child, 'close').then(() => child.exitCode)
  const url = `http://${host}:${ports.http}`
  try {
    await waitForLivez(`${url}/livez`, child, { output: () => output, eager })
  } catch (error) {
    end()
    await ended
    throw error
  }
  return {
    child,
    pid: child.pid ?? 0,
    url,
    httpPort: ports.http,
    smtpPort: ports.smtp,
    output: () => output,
    exited: ended,
    kill(signal) {
      child.kill(signal)
      return ended
    },
  }
}

async function waitForLivez(
  url: string,
  child: ChildProcess,
  { output, eager }: { output(): string; eager: boolean },
): Promise<void> {
  const start = performance.now()
  for (let waitedMs = 0; waitedMs < START_MS; waitedMs = performance.now() - start) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`mayfly serve ended with ${child.exitCode} at once:\n${output()}`)
    }
    const up = await fetch(url).then(
      (response) => response.ok,
      () => false,
    )
    if (up) return
    await pauseAfter(eager ? 0 : waitedMs)
  }
  throw new Error(`mayfly serve is not up after ${START_MS} ms:\n${output()}`)
}

/** Two ports to use across restarts of the same service. */
export async function freeServicePorts(): Promise<{ http: number; smtp: number }> {
  const [http = 0, smtp = 0] = await freePorts(2)
  return { http, smtp }
}
