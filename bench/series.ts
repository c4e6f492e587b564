import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { whileSending } from './tools/intake.ts'
import { writeMail } from './tools/mail-text.ts'
import { benchFolder, cpuOf } from './tools/processes.ts'
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

// What metrics and series cost intake: rounds longer than a minute, so that each has a record, beside a checkout without them
// (`--against FOLDER`); and the time to read all metrics during intake, which a record takes apart from its commit.

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, against: { type: 'string' } },
})
const { quick, against } = options
const ROUNDS = quick ? 1 : 5
const SECONDS = quick ? 2 : 65
const READS = quick ? 5 : 50
const LOAD = { reuse: true, senders: 20 }
const WITHIN = 0.98

async function main(): Promise<void> {
  reportHeader('Series', 'series')
  say(
    `- Settings: ${ROUNDS} rounds of ${SECONDS} s per checkout, alternating; smtp-source on the same machine, 4 KB, reused connections, 20 senders; a record per minute`,
  )
  const folder = benchFolder()
  const file = writeMail(join(folder.path, 'mail'), 4096)
  const start = async (name: string, root?: string) => ({
    name,
    mayfly: await startMayfly(folder.inside(name), {}, root === undefined ? {} : { root }),
  })
  const services = [await start('with series')]
  if (against) services.push(await start('without', resolve(against)))
  const results = await alternate(services, ROUNDS, async ({ mayfly }) => {
    progress('intake')
    const before = cpuOf(mayfly).server
    const { mails } = await whileSending(mayfly, { ...LOAD, file }, () => pause(SECONDS * 1000))
    const cpu = cpuOf(mayfly).server - before
    return { mails, cpuPerThousand: (cpu / (mails * SECONDS)) * 1000 }
  })
  reportTable(
    ['service', 'mails/s', 'CPU s per 1,000'],
    [...results].map(([name, rounds]) => [
      name,
      spread(rounds.map(({ mails }) => mails)),
      spread(rounds.map(({ cpuPerThousand }) => cpuPerThousand)),
    ]),
  )
  const rate = (name: string) => median((results.get(name) ?? []).map(({ mails }) => mails))
  if (against) {
    const share = rate('with series') / rate('without')
    reportGoal(`at least ${WITHIN} of the rate without`, share, share >= WITHIN)
  }
  const [first] = services
  if (first) await reportReads(first.mayfly, file)
  for (const { mayfly } of services) await mayfly.stop()
}

async function reportReads(mayfly: Mayfly, file: string): Promise<void> {
  const { result } = await whileSending(mayfly, { ...LOAD, file }, async () => {
    const times: number[] = []
    for (let read = 0; read < READS; read += 1) {
      const started = performance.now()
      await (await fetch(`${mayfly.url}/metrics`)).text()
      times.push(performance.now() - started)
    }
    return times
  })
  const [p50 = '', p99 = ''] = p50AndP99(result)
  const share = figure((median(result) / 60_000) * 100)
  say(
    '',
    `\`/metrics\` during intake: p50 ${p50} ms, p99 ${p99} ms. Once a minute, that is ${share} % of the time of one thread.`,
  )
}

await main()
