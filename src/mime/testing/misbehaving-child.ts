import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { JobFailed } from '../../sandbox/serve-jobs.ts'
import { EMPTY_MAIL } from '../../shared/mail.ts'
import type { ParseJob, ParseResult } from '../parser.ts'

type Result = ParseResult | JobFailed

let count = 0

// A child that executes a mail that starts with one of these commands, and returns the body of any other. It does not load the
// parser, so it starts quickly.
const commands: Record<string, (rest: string) => Result | Promise<Result>> = {
  spin() {
    for (;;) Math.random()
  },
  'take 600 ms'() {
    while (process.cpuUsage().user < 600_000) Math.random()
    return { kind: 'mail', mail: EMPTY_MAIL }
  },
  stall: () => new Promise(() => {}),
  die() {
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => {})
  },
  exit: () => process.exit(0),
  'fill the heap'() {
    const hoard: unknown[] = []
    for (;;) hoard.push(new Array(1_000_000).fill(0.5))
  },
  'fill buffers'() {
    const hoard: Buffer[] = []
    while (hoard.length < 80) hoard.push(Buffer.alloc(10 * 1024 * 1024, 1))
    return new Promise(() => {})
  },
  count() {
    count += 1
    return { kind: 'mail', mail: { ...EMPTY_MAIL, text: String(count) } }
  },
  throw() {
    return { kind: 'failed', location: 'Error at a test' }
  },
  async reach(rest) {
    const [port = '', path = ''] = rest.split(' ')
    const reached = {
      'read /etc/passwd': reach(() => readFileSync('/etc/passwd')),
      'read the rest of the source': reach(() =>
        readFileSync(new URL('../../runtime/config.ts', import.meta.url)),
      ),
      write: reach(() => writeFileSync(path, 'x')),
      spawn: reach(() => spawnSync(process.execPath, ['--version'])),
      worker: reach(() => new Worker('', { eval: true })),
      eval: reach(() => new Function('return 1')()),
      environment: Object.keys(process.env).join(),
      connect: await reachServer(Number(port)),
      // In its own PID namespace the parent is 0, which would signal the process group.
      'signal the parent': reach(() => process.kill(process.ppid || 999_999, 0)),
    }
    const headers = Object.entries(reached).map(([name, value]) => ({ name, value }))
    return { kind: 'mail', mail: { ...EMPTY_MAIL, headers } }
  },
}

process.on('message', async (job: ParseJob) => {
  const raw = Buffer.from(job.raw).toString()
  const [command = '', rest = ''] = raw.split(': ', 2)
  const [, text = ''] = raw.split('\r\n\r\n')
  const result: Result = commands[command]
    ? await commands[command](rest)
    : { kind: 'mail', mail: { ...EMPTY_MAIL, text } }
  process.send?.(result)
})
process.send?.({ kind: 'ready' })

function reach(attempt: () => unknown): string {
  try {
    attempt()
    return 'reached'
  } catch (fault) {
    return fault instanceof Error && 'code' in fault ? String(fault.code) : String(fault)
  }
}

function reachServer(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve('reached'))
    socket.once('error', (fault: NodeJS.ErrnoException) => resolve(fault.code ?? fault.message))
  })
}
