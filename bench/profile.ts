import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectSmtp } from '../test/support/smtp-client.ts'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { runLoad } from './tools/http-load.ts'
import { sendMails } from './tools/intake.ts'
import { mailText, writeMail } from './tools/mail-text.ts'
import { against, quick } from './tools/options.ts'
import { benchFolder, threadTimes } from './tools/processes.ts'
import { figure, progress, reportHeader, reportTable, say } from './tools/report.ts'

// Where the CPU time of each thread goes, from V8's profiler. `--against FOLDER` also profiles another checkout.

const MAILS = quick ? 2_000 : 10_000
const SECONDS = quick ? 1 : 3
const INTERVAL_US = 250

interface ProfileNode {
  id: number
  callFrame: { functionName: string; url: string }
  children?: number[]
}

/** Times in microseconds of the monotonic clock, as process.hrtime. */
interface Profile {
  nodes: ProfileNode[]
  startTime: number
  samples: number[]
  timeDeltas: number[]
}

/** A load on the running service, with what each thread does for one mail or request. */
interface Load {
  name: string
  unit: 'mail' | 'request'
  threads: readonly string[]
  run(mayfly: Mayfly): Promise<number>
}

interface Window {
  from: number
  to: number
  count: number
  /** CPU seconds by thread name, from /proc. */
  cpu: Map<string, number>
}

const folder = benchFolder()
const file = writeMail(join(folder.path, 'mail'), 4096)

const intake = (reuse: boolean): Load => ({
  name: `4 KB, ${reuse ? 'reused connections' : 'one connection per mail'}, 100 senders`,
  unit: 'mail',
  threads: ['smtp-1', 'mail-writer'],
  async run(mayfly) {
    const { email } = await mayfly.session()
    await sendMails({ port: mayfly.smtpPort, to: email, mails: MAILS, senders: 100, reuse, file })
    return MAILS
  },
})

const polls: Load = {
  name: 'check-mail, 10 messages, 32 connections',
  unit: 'request',
  threads: ['http-1'],
  async run(mayfly) {
    const { email, token } = await mayfly.session()
    const smtp = await connectSmtp(mayfly.smtpPort)
    for (let count = 0; count < 10; count += 1)
      await smtp.send({ to: [email], raw: mailText(4096) })
    smtp.close()
    const url = `${mayfly.url}/api/check-mail?token=${token}`
    const { perSecond } = await runLoad({ url, seconds: SECONDS, connections: 32 })
    return Math.round(perSecond * SECONDS)
  },
}

const LOADS = [intake(true), intake(false), polls]

// The first match counts. Native functions without an entry belong to their caller.
const AREAS: readonly [area: string, matches: (name: string, url: string) => boolean][] = [
  ['garbage collection', (name) => name === '(garbage collector)'],
  ['native, not attributed', (name) => name === '(program)'],
  ['messages between threads', (name) => /^(postMessage|receiveMessageOnPort)$/.test(name)],
  [
    'messages between threads',
    (_, url) => /runtime\/(ports|writer)\.ts$|internal\/worker|per_context\/messageport/.test(url),
  ],
  ['promises and ticks', (name) => /^(runMicrotasks|setImmediate|queueMicrotask)$/.test(name)],
  [
    'promises and ticks',
    (_, url) => /task_queues|internal\/timers|node:timers|async_hooks|internal\/promise/.test(url),
  ],
  ['compression', (_, url) => /store\/compression\.ts$|node:zlib/.test(url)],
  ['begin and commit', (_, url) => /sqlite\/group-commit\.ts$/.test(url)],
  ['SQLite statements', (_, url) => /better-sqlite3|src\/store\//.test(url)],
  ['HTTP of Node', (_, url) => /node:_http|internal\/http|node:http/.test(url)],
  [
    'sockets and streams',
    (_, url) => /node:net|internal\/stream|node:_?stream|internal\/js_stream|node:dns/.test(url),
  ],
  ['sockets and streams', (name) => /^(write(Latin1|Utf8)String|writeBuffer|writev)$/.test(name)],
  [
    'events and buffers',
    (_, url) => /node:(events|buffer|internal\/(event|buffer|util))/.test(url),
  ],
  ['SMTP session', (_, url) => /src\/smtp\//.test(url)],
  ['HTTP adapter', (_, url) => /src\/http\/|find-my-way|fastify|typebox/.test(url)],
  ['service and rules', (_, url) => /src\/(service|core|mime|bus|limit|runtime)\//.test(url)],
]

/** Self time by area in microseconds, within the window. */
function timesByArea({ nodes, startTime, samples, timeDeltas }: Profile, { from, to }: Window) {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  )
  const areaOf = (id: number | undefined): string => {
    const frame = id === undefined ? undefined : byId.get(id)?.callFrame
    if (!frame) return 'other'
    const [area] = AREAS.find(([, matches]) => matches(frame.functionName, frame.url)) ?? []
    if (area) return area
    return frame.url === '' ? areaOf(parents.get(id ?? 0)) : 'other'
  }
  const times = new Map<string, number>()
  let at = startTime
  for (const [index, id] of samples.entries()) {
    const delta = timeDeltas[index] ?? 0
    at += delta
    if (at < from || at > to || byId.get(id)?.callFrame.functionName === '(idle)') continue
    const area = areaOf(id)
    times.set(area, (times.get(area) ?? 0) + delta)
  }
  return times
}

/** Code that a thread runs more than any other. */
const THREAD_CODE = [
  ['smtp-1', '/src/smtp/'],
  ['http-1', '/src/http/'],
  ['mail-writer', '/sqlite/mail/add-mail.ts'],
] as const

function readProfiles(path: string): Map<string, Profile> {
  const profiles = readdirSync(path).map(
    (name) => JSON.parse(readFileSync(join(path, name), 'utf8')) as Profile,
  )
  return new Map(
    THREAD_CODE.flatMap(([thread, part]) => {
      const [most] = profiles.toSorted((a, b) => samplesIn(b, part) - samplesIn(a, part))
      return most ? [[thread, most] as const] : []
    }),
  )
}

function samplesIn({ nodes, samples }: Profile, part: string): number {
  const ids = new Set(
    nodes.filter(({ callFrame }) => callFrame.url.includes(part)).map((n) => n.id),
  )
  return samples.filter((id) => ids.has(id)).length
}

const nowUs = () => Number(process.hrtime.bigint() / 1000n)

/** Runs all loads against one checkout: their windows and the profile of each thread. */
async function profileCheckout(name: string, root: string | undefined) {
  const profiles = folder.inside(`profiles-${name}`)
  const flags = ['--cpu-prof', `--cpu-prof-dir=${profiles}`, `--cpu-prof-interval=${INTERVAL_US}`]
  const env = { NODE_OPTIONS: flags.join(' ') }
  // Not the build: areas are told apart by the files of src.
  const command = [process.execPath, 'src/main.ts', 'serve']
  const from = { command, ...(root ? { root } : {}) }
  const mayfly = await startMayfly(folder.inside(name), env, from)
  const windows = new Map<Load, Window>()
  for (const load of LOADS) {
    progress(`${name}: ${load.name}`)
    // Compiles the code.
    if (!quick) await load.run(mayfly)
    const [from, before] = [nowUs(), threadTimes(mayfly.pid)]
    const count = await load.run(mayfly)
    const [to, after] = [nowUs(), threadTimes(mayfly.pid)]
    const cpu = new Map([...after].map(([key, value]) => [key, value - (before.get(key) ?? 0)]))
    windows.set(load, { from, to, count, cpu })
  }
  await mayfly.stop()
  return { name, windows, profiles: readProfiles(profiles) }
}

reportHeader('Profile of the threads', 'profile', against)
say(
  `- Settings: one SMTP and one HTTP thread; ${MAILS} mails, ${SECONDS} s of requests, after as many to warm up; V8's profiler with a sample every ${INTERVAL_US} µs, which itself costs time`,
  '- Self time per mail or request in µs, with the time spent waiting for the disk in a commit. Native code counts for the function that calls it.',
)
const checkouts = [
  ...(against ? [await profileCheckout('against', against)] : []),
  await profileCheckout('here', undefined),
]
for (const load of LOADS) {
  for (const thread of load.threads) {
    const columns = checkouts.map(({ name, windows, profiles }) => {
      const [window, profile] = [windows.get(load), profiles.get(thread)]
      if (!window || !profile) throw new Error(`${name}: no profile of ${thread}`)
      const times = timesByArea(profile, window)
      const perUnit = (us: number) => us / window.count
      return {
        areas: new Map([...times].map(([area, us]) => [area, perUnit(us)])),
        cpu: perUnit((window.cpu.get(thread) ?? Number.NaN) * 1e6),
      }
    })
    const areas = [...new Set(AREAS.map(([area]) => area)), 'other']
    const rows = areas
      .map((area) => [area, columns.map((column) => column.areas.get(area) ?? 0)] as const)
      .filter(([, values]) => values.some((value) => value >= 0.5))
    say('', `### ${load.name}: ${thread}, µs per ${load.unit}`)
    reportTable(
      ['area', ...checkouts.map(({ name }) => name)],
      [
        ...rows.map(([area, values]) => [area, ...values.map(figure)]),
        ['CPU time of the thread (/proc)', ...columns.map(({ cpu }) => figure(cpu))],
      ],
    )
  }
}
