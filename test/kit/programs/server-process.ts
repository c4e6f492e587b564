import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { program } from './programs.ts'

// What the real servers of the tests have in common: a Debian program with its own ports and folder.

interface User {
  uid: number
  gid: number
}

interface ServerOptions {
  command: readonly string[]
  /** The server's own folder, removed with the process. */
  folder: string
  user?: User | undefined
  /** The output that shows that it is ready. */
  ready: RegExp
  /** The signal that stops it at once; no data is needed afterwards. */
  endSignal?: 'KILL' | 'QUIT'
}

/** Starts a server and waits until it is ready. It is stopped when this process ends, for whatever reason. */
export async function startServer(options: ServerOptions): Promise<ChildProcess> {
  const { folder, user, ready, endSignal = 'KILL' } = options
  const [file = '', ...args] = endWithParent(options.command, endSignal)
  const server = spawn(file, args, { ...user, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const clear = () => {
    server.kill(`SIG${endSignal}`)
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', clear)
  server.once('exit', () => process.off('exit', clear))
  let output = ''
  await new Promise<void>((resolve, reject) => {
    server.once('exit', () => reject(new Error(`${options.command[0]} did not start: ${output}`)))
    for (const stream of [server.stdout, server.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-10_000)
        if (ready.test(output)) resolve()
      })
    }
  })
  return server
}

const SETPRIV = '/usr/bin/setpriv'

/** Wraps the command so that it gets this signal when its parent exits, for whatever reason. */
export function endWithParent(command: readonly string[], signal = 'KILL'): string[] {
  return existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', signal, ...command] : [...command]
}

/** Creates `tls.crt` and `tls.key` in the folder, for a name such as `DNS:localhost`. */
export function makeCertificate(folder: string, name: string, user?: User): void {
  const key = join(folder, 'tls.key')
  const kind = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' ')
  const names = ['-subj', '/CN=mayfly test', '-addext', `subjectAltName=${name}`]
  const files = ['-out', join(folder, 'tls.crt'), '-keyout', key]
  execFileSync(program('openssl'), ['req', ...kind, ...names, ...files], {
    ...user,
    stdio: 'ignore',
  })
  chmodSync(key, 0o600)
}

// Below the ports that systems give to outgoing connections and to servers that listen on port 0. Each test worker has
// its own, and mostly each process of a campaign, so that nobody takes a port between the check and its use, or while its service restarts.
const FIRST_PORT = 10_000
const PORTS_PER_WORKER = 1_000
const WORKERS = 20
const { VITEST_POOL_ID = process.pid } = process.env
const ownPorts = FIRST_PORT + (Number(VITEST_POOL_ID) % WORKERS) * PORTS_PER_WORKER
let offset = randomInt(PORTS_PER_WORKER)

/** A local port for this process alone, also across restarts of what listens on it. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < PORTS_PER_WORKER; attempt += 1) {
    offset = (offset + 1) % PORTS_PER_WORKER
    const port = ownPorts + offset
    if (await isFree(port)) return port
  }
  throw new Error(`no free port from ${ownPorts} to ${ownPorts + PORTS_PER_WORKER - 1}`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch {
    return false
  }
  await once(server.close(), 'close')
  return true
}

/** This many distinct free ports. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) ports.push(await freePort())
  return ports
}
