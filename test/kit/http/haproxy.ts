import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { freeServicePorts } from '../app/service-process.ts'
import { program } from '../programs/programs.ts'
import { endWithParent } from '../programs/server-process.ts'
import { tempFolder } from '../store/stores.ts'
import { waitUntil } from '../wait-until.ts'

interface Ports {
  httpPort: number
  smtpPort: number
}

// Only a test that fails waits so long: on a busy machine, checks take seconds.
const STATES_MS = 60_000

/** Debian's HAProxy with deploy/haproxy.cfg in front of these local nodes. A node that is not given is down. */
export async function openHaproxy(nodes: Record<string, Ports>) {
  const folder = tempFolder()
  const ports = await freeServicePorts()
  const unused = await freeServicePorts()
  const socket = join(folder.path, 'socket')
  const config = readFileSync(new URL('../../../deploy/haproxy.cfg', import.meta.url), 'utf8')
    .replace('bind :::25 v4v6', `bind 127.0.0.1:${ports.smtp}`)
    .replace('bind :::80 v4v6', `bind 127.0.0.1:${ports.http}`)
    .replaceAll(
      / (node\d):2525 /g,
      (_, node: string) => ` ${at(nodes[node]?.smtpPort ?? unused.smtp)} `,
    )
    .replaceAll(
      / (node\d):8080 /g,
      (_, node: string) => ` ${at(nodes[node]?.httpPort ?? unused.http)} `,
    )
  const file = join(folder.path, 'haproxy.cfg')
  writeFileSync(file, `${config}\nglobal\n  stats socket ${socket} mode 600 level admin\n`)
  execFileSync(program('haproxy'), ['-c', '-q', '-f', file])
  const { server, output } = await start(file)

  /** The state of a server by its name in the file, such as http_nodes/node1: UP, DOWN, or a transition. */
  async function states(): Promise<Record<string, string>> {
    const connection = connect(socket)
    connection.end('show stat\n')
    const rows = (await text(connection)).split('\n').map((row) => row.split(','))
    return Object.fromEntries(rows.map((row) => [`${row[0]}/${row[1]}`, row[17] ?? '']))
  }

  return {
    url: `http://127.0.0.1:${ports.http}`,
    smtpPort: ports.smtp,
    /** Resolves when its servers have these states. */
    async waitForStates(expected: Record<string, string>): Promise<void> {
      const end = performance.now() + STATES_MS
      for (;;) {
        const seen = await states()
        if (Object.entries(expected).every(([name, state]) => seen[name]?.startsWith(state))) return
        if (performance.now() > end) throw new Error(`HAProxy sees ${JSON.stringify(seen)}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    /** How often a node was found to be down. */
    outages: () => output().match(/Server http_nodes\S+ is DOWN/g)?.length ?? 0,
    async close() {
      const exit = once(server, 'exit')
      if (server.kill('SIGKILL')) await exit
      folder.remove()
    },
  }
}

const at = (port: number) => `127.0.0.1:${port}`

async function start(file: string): Promise<{ server: ChildProcess; output(): string }> {
  const [command = '', ...args] = endWithParent([program('haproxy'), '-db', '-f', file])
  const server = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  server.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  let said = ''
  server.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-10_000)
  })
  const socket = /stats socket (\S+)/.exec(readFileSync(file, 'utf8'))?.[1] ?? ''
  await waitUntil(() => {
    if (server.exitCode !== null) throw new Error(`HAProxy did not start: ${said}`)
    return existsSync(socket)
  })
  return { server, output: () => output }
}
