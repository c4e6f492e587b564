import { join } from 'node:path'
import { freeServicePorts } from '../test/support/service-process.ts'
import { startMayfly } from './contestants/mayfly.ts'
import { allDelivered, startPostfix } from './contestants/postfix.ts'
import {
  type Contestant,
  type IntakeCase,
  type IntakeResult,
  intakeCases,
  medianOf,
  runCase,
} from './tools/intake.ts'
import { writeMail } from './tools/mail-text.ts'
import { benchFolder, buildSlowFsync, startServer } from './tools/processes.ts'
import {
  figure,
  median,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
  spread,
} from './tools/report.ts'

// Rate and CPU cost of durable intake. Load generator: Postfix's smtp-source.

const quick = process.argv.includes('--quick')
const ROUNDS = quick ? 2 : 5
const SECONDS = quick ? 0.5 : 1.5
const DURATION = { rounds: ROUNDS, seconds: SECONDS }
const NAMES = { sink: 'sink', mayfly: 'mayfly', postfix: 'Postfix', library: 'smtp-server' }

const CASES = intakeCases([4, 50])

async function main(): Promise<void> {
  reportHeader('SMTP intake', 'smtp-intake')
  say(
    `- Settings: ${ROUNDS} rounds of about ${SECONDS} s per server, alternating; smtp-source on the same machine; HTML mail that compresses 3:1 (4 KB) or 4:1 (50 KB); one recipient`,
    '- sink: `node:net`, discards. mayfly: `bin/mayfly.js serve`, one SMTP thread, SQLite with an fsync before each 250.',
    '- Postfix: queue file fsynced before each 250, then delivered to a maildir. Delivery lags behind the 250, so both rates are reported; CPU is measured until the last delivery. With mayfly a mail can be read at its 250. smtp-server: discards, and delays each greeting by 100 ms.',
    '- CPU: user and system seconds of the server, including threads and child processes, per 1,000 mails.',
  )
  const folder = benchFolder()
  const library = buildSlowFsync(folder.path)
  const durable = await compare('unmodified fsync', undefined, quick ? CASES.slice(0, 4) : CASES)
  reportGoals(durable)
  if (library)
    await compare('with 2 ms added to each fsync', library, CASES.slice(0, quick ? 2 : 4))
  else say('', 'Skipped: adding 2 ms to each fsync requires a C compiler (`cc`).')
}

async function compare(title: string, preload: string | undefined, cases: readonly IntakeCase[]) {
  say('', `### ${title[0]?.toUpperCase()}${title.slice(1)}`)
  const { contestants, stop } = await startAll(preload)
  const all = new Map<IntakeCase, Map<string, IntakeResult[]>>()
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

/** All servers run throughout and idle while another is measured. With slow fsync, smtp-server, which never syncs, is left out. */
async function startAll(preload: string | undefined) {
  const { inside } = benchFolder()
  const env: Record<string, string> = preload ? { LD_PRELOAD: preload } : {}
  const { http: sinkPort, smtp: libraryPort } = await freeServicePorts()
  const { smtp: postfixPort } = await freeServicePorts()
  const sink = await startServer(new URL('contestants/sink.ts', import.meta.url), [
    String(sinkPort),
  ])
  const library = await startServer(new URL('contestants/smtp-server.ts', import.meta.url), [
    String(libraryPort),
  ])
  const mayfly = await startMayfly(inside('mayfly'), env)
  const postfix = await startPostfix(inside('postfix'), postfixPort, preload)
  let sentToPostfix = 0

  const anyRecipient = { recipient: async () => 'you@box.test' }
  const contestants: Contestant[] = [
    { name: NAMES.sink, pid: sink.pid, port: sinkPort, ...anyRecipient },
    {
      name: NAMES.mayfly,
      pid: mayfly.pid,
      port: mayfly.smtpPort,
      recipient: async () => (await mayfly.session()).email,
    },
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
    { name: NAMES.library, pid: library.pid, port: libraryPort, ...anyRecipient },
  ]
  const stop = async () => {
    postfix.stop()
    await mayfly.stop()
    await library.stop()
    await sink.stop()
  }
  return { contestants: preload ? contestants.slice(0, 3) : contestants, stop }
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

function reportGoals(results: Results): void {
  for (const [{ name, reuse }, outcomes] of results) {
    const mayfly = medianOf(outcomes, NAMES.mayfly)
    const ofSink = mayfly / medianOf(outcomes, NAMES.sink)
    const ofPostfix = mayfly / medianOf(outcomes, NAMES.postfix)
    const ofDelivered = mayfly / medianOf(outcomes, NAMES.postfix, 'deliveredPerSecond')
    const minRatio = reuse ? 0.4 : 0.55
    reportGoal(`${name}: at least ${minRatio} of the sink`, ofSink, ofSink >= minRatio)
    if (reuse) continue
    reportGoal(`${name}: at least 3 times Postfix, by its 250s`, ofPostfix, ofPostfix >= 3)
    reportGoal(
      `${name}: at least 3 times Postfix, by its deliveries`,
      ofDelivered,
      ofDelivered >= 3,
    )
  }
}

await main()
