import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { waitUntil } from '../../test/kit/wait-until.ts'
import type { JobRequest } from '../base/fair-scheduler.ts'
import type { ParseJob, ParseResult } from '../mime/parser.ts'
import { childIsolation, type Isolation } from './isolation.ts'
import {
  openProcessPool,
  openSandbox,
  type ProcessPool,
  type Sandbox,
  type SandboxOptions,
} from './pool.ts'
import { errorLocation } from './serve-jobs.ts'

const MIME = new URL('../mime/', import.meta.url)
const LETTER = 'X: y\r\n\r\nhi'
type TestPool = ProcessPool<ParseJob, ParseResult>
const opened: Pick<Sandbox, 'close'>[] = []

type Limits = Partial<Parameters<typeof openProcessPool>[1]>

function open({
  maxWaiting = 100,
  maxWaitingPerKey = 100,
  ...options
}: Partial<SandboxOptions> & Limits = {}): TestPool & Pick<Sandbox, 'close'> {
  const sandbox = openSandbox({
    name: 'test',
    // Executes the first line of the mail as a command.
    script: new URL('./testing/misbehaving-child.ts', MIME),
    folders: [MIME, new URL('../codes/', import.meta.url)],
    limits: { cpuMs: 200 },
    ...options,
  })
  const overloadMessage = 'Too many are waiting.'
  const limits = { maxWaiting, maxWaitingPerKey, overloadMessage }
  const pool = openProcessPool<ParseJob, ParseResult>(sandbox, limits)
  const close = async () => {
    pool.close()
    await sandbox.close()
  }
  opened.push({ close })
  return { ...pool, close }
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((pool) => pool.close()))
})

const by = (...owner: string[]): JobRequest => ({ owner })
const parse = (pool: TestPool, mail: string, request: JobRequest, key: unknown = {}) =>
  pool.use(key, request, (run) => run({ kind: 'parse', raw: Buffer.from(mail) }))
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: { code?: string }) => error.code,
  )

describe('fairness', () => {
  test.each([0, 1])('one owner cannot occupy all children, %i in reserve', async (reserve) => {
    const pool = open({ reserve })
    const stalled = ['eve a', 'eve b', 'eve c'].map((owner) =>
      codeOf(parse(pool, 'stall', by(...owner.split(' ')))),
    )
    for (let count = 0; count < 3; count += 1) {
      expect((await parse(pool, LETTER, by('bob'))).kind).toBe('mail')
    }
    await pool.close()
    expect(await Promise.all(stalled)).toEqual(Array(3).fill('shutting_down'))
  })

  test('a child in reserve does not start for ordinary jobs', async () => {
    const pool = open({ reserve: 1 })
    const before = childrenOf(process.pid)
    const owners = Array.from({ length: 20 }, (_, at) => by(`owner ${at}`))
    await Promise.all(owners.map((owner) => parse(pool, LETTER, owner)))
    expect(childrenOf(process.pid).filter((pid) => !before.includes(pid))).toHaveLength(1)
  })

  test('a new owner waits for running jobs, not for the backlog', async () => {
    // The only child is never in reserve.
    const pool = open({ children: 1, reserve: 1 })
    const order: string[] = []
    const note = async (name: string, promise: Promise<unknown>) => {
      await promise
      order.push(name)
    }
    const hostile = Array.from({ length: 4 }, (_, at) =>
      note(`e${at}`, parse(pool, 'spin', by('eve'))),
    )
    const others = ['b0', 'b1', 'b2'].map((name) => note(name, parse(pool, LETTER, by('bob'))))
    await Promise.all([...hostile, ...others])
    // One hostile mail costs more than three ordinary ones.
    expect(order.join(' ')).toBe('e0 b0 b1 b2 e1 e2 e3')
  })

  test('only the owner whose job killed a child waits for its replacement', async () => {
    const pool = open()
    await Promise.all([parse(pool, LETTER, by('ann')), parse(pool, LETTER, by('bob'))])
    const order: string[] = []
    await Promise.all([
      parse(pool, 'die', by('eve')).then(() => order.push('eve')),
      parse(pool, LETTER, by('eve')).then(() => order.push('eve again')),
      (async () => {
        for (let count = 0; count < 3; count += 1) await parse(pool, LETTER, by('bob'))
        order.push('bob')
      })(),
    ])
    expect(order.at(-1)).toBe('eve again')
  })

  test('background jobs cannot occupy all children', async () => {
    const pool = open()
    const stalled = ['a', 'b', 'c'].map((owner) =>
      codeOf(parse(pool, 'stall', { ...by(owner), background: true })),
    )
    expect((await parse(pool, LETTER, by('bob'))).kind).toBe('mail')
    await pool.close()
    expect(await Promise.all(stalled)).toEqual(Array(3).fill('shutting_down'))
  })
})

describe('requests for the same key', () => {
  test('share one run', async () => {
    const pool = open()
    let runs = 0
    const both = [by('ann'), by('bob'), { ...by('eve'), background: true }].map((request) =>
      pool.use('mail 1', request, async () => {
        runs += 1
        return runs
      }),
    )
    expect(await Promise.all(both)).toEqual([1, 1, 1])
  })
})

describe('an aborted request', () => {
  test('that has not started is never run', async () => {
    const pool = open({ children: 1 })
    const running = parse(pool, 'stall', by('ann')).catch(() => {})
    const gone = new AbortController()
    let runs = 0
    const waiting = pool.use('mail 1', { ...by('bob'), signal: gone.signal }, async () => {
      runs += 1
    })
    gone.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    await expect(
      pool.use('mail 2', { ...by('bob'), signal: gone.signal }, async () => {}),
    ).rejects.toThrow('gone')
    await pool.close()
    await running
    expect(runs).toBe(0)
  })

  test('does not affect other requests for the same key', async () => {
    const pool = open({ children: 1 })
    const gone = new AbortController()
    const first = parse(pool, LETTER, by('ann'))
    const aborted = parse(pool, LETTER, { ...by('bob'), signal: gone.signal }, 'mail 1')
    const other = parse(pool, LETTER, by('cyd'), 'mail 1')
    gone.abort(new Error('gone'))
    await expect(aborted).rejects.toThrow('gone')
    expect((await first).kind).toBe('mail')
    expect((await other).kind).toBe('mail')
  })

  test('frees its place in the queue', async () => {
    const pool = open({ children: 1, maxWaitingPerKey: 1 })
    const running = codeOf(parse(pool, 'stall', by('ann')))
    const gone = new AbortController()
    const waiting = codeOf(parse(pool, LETTER, { ...by('ann'), signal: gone.signal }))
    expect(await codeOf(parse(pool, LETTER, by('ann')))).toBe('overloaded')
    gone.abort(new Error('gone'))
    await waiting
    const next = codeOf(parse(pool, LETTER, by('ann')))
    await pool.close()
    expect(await Promise.all([running, next])).toEqual(['shutting_down', 'shutting_down'])
  })
})

test('when the queue is full, the owner with the most requests loses its last one', async () => {
  const pool = open({ children: 1, maxWaiting: 2 })
  const running = codeOf(parse(pool, 'stall', by('eve')))
  const waiting = [1, 2].map(() => codeOf(parse(pool, LETTER, by('eve'))))
  const newcomer = codeOf(parse(pool, LETTER, by('bob')))
  expect(await waiting[1]).toBe('overloaded')
  await pool.close()
  expect(await Promise.all([running, waiting[0], newcomer])).toEqual(Array(3).fill('shutting_down'))
  expect(await codeOf(parse(pool, LETTER, by('bob')))).toBe('shutting_down')
})

test('a child without a job ends after a while, and another one takes its place', async () => {
  const pool = open({ idleMs: 20 })
  const count = async () => {
    const outcome = await parse(pool, 'count', by('ann'))
    return outcome.kind === 'mail' && outcome.mail.text
  }
  expect(await count()).toBe('1')
  await waitUntil(async () => (await count()) === '1')
})

const isRoot = process.getuid?.() === 0

// As another user, the child is the process that was started.
test.runIf(isRoot)('a stall of the machine is not counted as CPU time of a job', async () => {
  const pool = open({ children: 1, limits: { cpuMs: 400 } })
  const before = childrenOf(process.pid)
  await parse(pool, LETTER, by('ann'))
  const [pid = ''] = childrenOf(process.pid).filter((child) => !before.includes(child))
  const { cpuMs: idleMs } = usageOf(pid)
  const slow = parse(pool, 'take 600 ms', by('ann'))
  while (usageOf(pid).cpuMs <= idleMs) await new Promise(setImmediate)
  // As if the machine stalled: no poll until the child has responded and sleeps.
  const timer = new Int32Array(new SharedArrayBuffer(4))
  for (let used = usageOf(pid); used.state !== 'S' || used.cpuMs < 600; used = usageOf(pid)) {
    Atomics.wait(timer, 0, 0, 20)
  }
  expect((await slow).kind).toBe('mail')
})

test.runIf(process.platform === 'linux')(
  'is killed before the service if memory runs out',
  async () => {
    const pool = open()
    const before = childrenOf(process.pid)
    await parse(pool, LETTER, by('ann'))
    const [pid = ''] = childrenOf(process.pid).filter((child) => !before.includes(child))
    // In a namespace of its own, it is the child of `unshare`.
    const node = childrenOf(Number(pid))[0] || pid
    expect(readFileSync(`/proc/${node}/oom_score_adj`, 'utf8').trim()).toBe('1000')
  },
)

function childrenOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ')
}

function usageOf(pid: string): { state: string; cpuMs: number } {
  const [state = '', ...fields] = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ')
  return { state, cpuMs: (Number(fields[10]) + Number(fields[11])) * 10 }
}

const source = (path: string) => new URL(path, import.meta.url).href

/** What a program finds out that parses a mail as this user, and its child about signals. */
const program = `
  import { childIsolation } from ${JSON.stringify(source('./isolation.ts'))}
  import { openMailSandbox, openParser } from ${JSON.stringify(source('../mime/parser.ts'))}
  const script = new URL(${JSON.stringify(source('../mime/testing/misbehaving-child.ts'))})
  const log = { warn: console.error, error: console.error }
  const sandbox = openMailSandbox({ script, children: 1, limits: { cpuMs: 300 } })
  const parser = openParser({ log, sandbox })
  const { headers } = await parser.parse(Buffer.from('reach: 1 /nowhere'))
  const { value: signalled } = headers.find(({ name }) => name === 'signal the parent')
  const { text } = await parser.parse(Buffer.from('spin'))
  await sandbox.close()
  console.log(JSON.stringify({ kind: childIsolation().kind, signalled, text }))
`

test('a job that waits for the next child keeps the process running', () => {
  const program = `
    import { openProcessPool, openSandbox } from ${JSON.stringify(new URL('./pool.ts', import.meta.url))}
    const mime = new URL(${JSON.stringify(MIME)})
    const script = new URL('./testing/misbehaving-child.ts', mime)
    const sandbox = openSandbox({ name: 'test', children: 1, script, folders: [mime] })
    const pool = openProcessPool(sandbox, { maxWaiting: 9, maxWaitingPerKey: 9, overloadMessage: '' })
    const parse = (mail) =>
      pool.use({}, { owner: [mail] }, (run) => run({ kind: 'parse', raw: Buffer.from(mail) }))
    parse('die')
    process.stdout.write((await parse('count')).kind)`
  const args = ['--input-type=module', '--eval', program]
  const run = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect([run.status, run.stdout]).toEqual([0, 'mail'])
})

test.runIf(isRoot)('children of root run as another user', () => {
  expect(childIsolation()).toEqual({ kind: 'user', uid: 65_534, gid: 65_534 })
})

test.runIf(isRoot)(
  'without root, children see no other process if PID namespaces are permitted',
  () => {
    const run = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
      uid: 65_534,
      gid: 65_534,
      env: {},
    })
    expect(run.stderr).toMatch(/^(.*too slow.*\n?|\{[\s\S]*too slow[\s\S]*)$/)
    const { kind, signalled, text }: Record<string, string> = JSON.parse(run.stdout)
    expect([kind, signalled]).toEqual(PERMITTED.get(kind as Isolation['kind']))
    // The limits apply as well.
    expect(text).toMatch(/took too long/)
  },
)

const PERMITTED = new Map<Isolation['kind'], [string, string]>([
  ['pid namespace', ['pid namespace', 'ESRCH']],
  ['none', ['none', 'reached']],
])

test('the location of an error is its name and stack frames', () => {
  const location = errorLocation(new RangeError('too far'))
  expect(location).toMatch(/^RangeError at .*src\/sandbox\/sandbox\.test\.ts:\d+:\d+/)
  expect(location).not.toMatch(/file:/)
})

for (const [name, quoted] of [
  ['plain text', 'the private words of a mail'],
  ['a line that looks like a stack frame', 'bad charset\n    at private (words.ts:1:1)'],
  ['replacement patterns', "$& $' private $1"],
] as const) {
  test(`the location of an error does not quote ${name}`, () => {
    for (const error of [new Error(quoted), quoted]) {
      expect(errorLocation(error)).toMatch(/^Error at /)
      expect(errorLocation(error)).not.toMatch(/private/)
    }
  })
}
