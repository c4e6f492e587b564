import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { freePorts } from '../test/kit/programs/server-process.ts'
import { connectSmtp, stuffed } from '../test/kit/smtp/smtp-client.ts'
import { startMayfly } from './contestants/mayfly.ts'
import { allDelivered, startPostfix } from './contestants/postfix.ts'
import {
  acceptedAt,
  type Contestant,
  type IntakeCase,
  type IntakeResult,
  intakeCases,
  medianOf,
  runCase,
  startData,
} from './tools/intake.ts'
import { mailText, writeMail } from './tools/mail-text.ts'
import { against, options, quick } from './tools/options.ts'
import { benchFolder, buildSlowFsync, type ServerProcess, startServer } from './tools/processes.ts'
import {
  alternate,
  figure,
  median,
  p50AndP99,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
  spread,
} from './tools/report.ts'

// Rate and CPU cost of durable intake. Load generator: Postfix's smtp-source. `--against FOLDER` also measures another checkout,
// with as many SMTP threads.

const ROUNDS = quick ? 2 : 5
const SECONDS = quick ? 0.5 : 1.5
const DURATION = { rounds: ROUNDS, seconds: SECONDS }
const NAMES = { sink: 'sink', mayfly: 'mayfly', postfix: 'Postfix', library: 'smtp-server' }
const THREADS = String(Math.min(availableParallelism(), 3))

const CASES = [...intakeCases([4], [1, 20, 100]), ...intakeCases([50])]
const SEVERAL_SENDERS_4_KB = CASES.slice(0, 6).filter(({ senders }) => senders > 1)
const LATENCY_MAILS = quick ? 20 : 200

async function main(): Promise<void> {
  reportHeader('SMTP intake', 'smtp-intake', against)
  say(
    `- Settings: ${ROUNDS} rounds of about ${SECONDS} s per server, alternating; smtp-source on the same machine; HTML mail that compresses 3:1 (4 KB) or 4:1 (50 KB); one recipient`,
    '- sink: `node:net`, discards. mayfly: `bin/mayfly.js serve`, SQLite with an fsync before each 250, with an SMTP thread per core, at most 3; also with one, the default on two cores.',
    '- Postfix: queue file fsynced before each 250, then delivered to a maildir. Delivery lags behind the 250, so both rates are reported; CPU is measured until the last delivery. With mayfly a mail can be read at its 250. smtp-server: discards, and delays each greeting by 100 ms.',
    '- CPU: user and system seconds of the server, including threads and child processes, per 1,000 mails.',
  )
  reportGoals(await compare('unmodified fsync', undefined, quick ? SEVERAL_SENDERS_4_KB : CASES))
  if (options.part?.includes('unmodified')) return
  const library = buildSlowFsync(benchFolder().path)
  const slow = SEVERAL_SENDERS_4_KB.slice(0, quick ? 2 : 4)
  if (library) await compare('with 2 ms added to each fsync', library, slow)
  else say('', 'Skipped: adding 2 ms to each fsync requires a C compiler (`cc`).')
}

async function compare(title: string, preload: string | undefined, cases: readonly IntakeCase[]) {
  say('', `### ${title[0]?.toUpperCase()}${title.slice(1)}`)
  const { contestants, stop } = await startAll(preload)
  const all = new Map<IntakeCase, Map<string, IntakeResult[]>>()
  await reportLatencies(contestants)
  const folder = benchFolder()
  for (const one of cases) {
    progress(`${title}: ${one.name}`)
    const file = writeMail(join(folder.path, String(one.bytes)), one.bytes)
    all.set(one, await runCase(contestants, { ...one, file }, DURATION))
  }
  await stop()
  report(all)
  return all
}

/** All servers run throughout and idle while another is measured. With slow fsync, those that never sync are left out. */
async function startAll(preload: string | undefined) {
  const { inside } = benchFolder()
  const env: Record<string, string> = preload ? { LD_PRELOAD: preload } : {}
  const [sinkPort = 0, postfixPort = 0] = await freePorts(2)
  const sink = await startServer(new URL('contestants/sink.ts', import.meta.url), [
    String(sinkPort),
  ])
  const services = await Promise.all(
    [
      { name: NAMES.mayfly, threads: THREADS },
      { name: 'mayfly, 1 thread', threads: '1' },
      { name: 'mayfly, 1 thread, no mail log', threads: '1', env: { MAYFLY_MAIL_LOG: 'off' } },
      ...(against ? [{ name: 'against', threads: THREADS, root: against }] : []),
    ].map(async ({ name, threads, env: more, ...program }) => {
      const settings = { ...env, ...more, MAYFLY_SMTP_THREADS: threads }
      return { name, ...(await startMayfly(inside(name), settings, program)) }
    }),
  )
  const postfix = await startPostfix(inside('postfix'), postfixPort, preload)
  let sentToPostfix = 0
  const unsynced = preload ? [] : await startUnsynced()

  const contestants: Contestant[] = [
    { name: NAMES.sink, pid: sink.pid, port: sinkPort, ...anyRecipient },
    ...services.map(({ name, pid, smtpPort: port, session }) => ({
      name,
      pid,
      port,
      recipient: async () => (await session()).email,
    })),
    {
      ...anyRecipient,
      name: NAMES.postfix,
      pid: postfix.pid,
      port: postfixPort,
      async drain(mails) {
        sentToPostfix += mails
        await allDelivered(postfix, sentToPostfix)
      },
    },
    ...unsynced,
  ]
  const stop = async () => {
    postfix.stop()
    for (const server of [...unsynced, ...services, sink]) await server.stop()
  }
  return { contestants, stop }
}

/** From the final dot to the 250, for a client that sends one mail after the other. */
async function reportLatencies(contestants: readonly Contestant[]): Promise<void> {
  progress('latency of one mail at a time')
  const raw = stuffed(mailText(4096))
  const results = await alternate(contestants, ROUNDS, async ({ port, recipient, drain }) => {
    const to = await recipient()
    const smtp = await connectSmtp(port)
    await smtp.command('EHLO sender.test')
    const times: number[] = []
    for (let mail = 0; mail < LATENCY_MAILS; mail += 1) {
      await startData(smtp, to)
      const start = performance.now()
      smtp.write(raw)
      times.push((await acceptedAt(smtp)) - start)
    }
    smtp.close()
    await drain?.(LATENCY_MAILS)
    return times
  })
  reportTable(
    ['one mail at a time, 4 KB', 'p50 ms', 'p99 ms'],
    [...results].map(([name, rounds]) => [name, ...p50AndP99(rounds.flat())]),
  )
}

const anyRecipient = { recipient: async () => 'you@box.test' }

/** Replies 250 without an fsync. */
async function startUnsynced(): Promise<(Contestant & ServerProcess)[]> {
  const [port = 0] = await freePorts(1)
  const path = new URL('contestants/smtp-server.ts', import.meta.url)
  const library = await startServer(path, [String(port)])
  return [{ ...library, ...anyRecipient, name: NAMES.library, port }]
}

type Results = Map<IntakeCase, Map<string, IntakeResult[]>>

function report(results: Results): void {
  const rows = [...results].flatMap(([{ name: caseName }, outcomes]) =>
    [...outcomes].map(([name, list], index) => [
      index === 0 ? caseName : '',
      name,
      spread(list.map(({ perSecond }) => perSecond)),
      figure(medianOf(outcomes, name) / medianOf(outcomes, NAMES.sink)),
      figure(medianOf(outcomes, name) / medianOf(outcomes, NAMES.postfix)),
      name === NAMES.postfix
        ? spread(list.map(({ deliveredPerSecond }) => deliveredPerSecond))
        : '',
      figure(median(list.map(({ cpuPerThousand }) => cpuPerThousand))),
    ]),
  )
  reportTable(
    ['case', 'server', 'mails/s', 'of sink', 'of Postfix', 'delivered/s', 'CPU s per 1,000'],
    rows,
  )
}

/** The least share of the sink's rate that is the goal. */
function leastShare({ bytes, reuse, senders }: IntakeCase): number | undefined {
  if (bytes > 4096) return reuse ? 0.4 : undefined
  if (senders === 1) return undefined
  if (senders === 20) return reuse ? 0.4 : 0.6
  return reuse ? 0.5 : 0.75
}

function reportGoals(results: Results): void {
  for (const [one, outcomes] of results) {
    const { name, bytes, reuse, senders } = one
    const mayfly = medianOf(outcomes, NAMES.mayfly)
    const ofSink = mayfly / medianOf(outcomes, NAMES.sink)
    const ofDelivered = mayfly / medianOf(outcomes, NAMES.postfix, 'deliveredPerSecond')
    const least = leastShare(one)
    if (least) reportGoal(`${name}: at least ${least} of the sink`, ofSink, ofSink >= least)
    if (!reuse) {
      const goal = `${name}: at least 3 times Postfix, by its deliveries`
      reportGoal(goal, ofDelivered, ofDelivered >= 3)
    }
    if (bytes > 4096 || senders !== 100) continue
    const cpu = medianOf(outcomes, NAMES.mayfly, 'cpuPerThousand')
    const most = reuse ? 0.24 : 0.45
    reportGoal(`${name}: at most ${most} s of CPU per 1,000`, cpu, cpu <= most)
  }
}

await main()
