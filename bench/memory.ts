import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ROOT, SOURCE } from '../test/kit/app/service-process.ts'
import { openDnsServer } from '../test/kit/dns/dns-server.ts'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { LARGE_MAILS, sendLargeMail } from './tools/large-mail.ts'
import { mailText } from './tools/mail-text.ts'
import { openMemoryGroup } from './tools/memory-group.ts'
import { against, quick } from './tools/options.ts'
import { benchFolder, memoryByProcess } from './tools/processes.ts'
import { proxiedClient, TRUST_LOOPBACK } from './tools/proxied-client.ts'
import {
  alternate,
  median,
  reportGoal,
  reportHeader,
  reportTable,
  say,
  spread,
} from './tools/report.ts'

// How much memory does the service take when idle, at most during a burst, and when that is over?

const ROUNDS = quick ? 1 : 3
const IDLE_SECONDS = quick ? 1 : 15
const REST_SECONDS = quick ? 2 : 40
const SAMPLE_MS = 200
const RETRY_MS = 500
const LIMIT_MB = 512
const CLIENTS = 20
const MAILS_PER_CLIENT = quick ? 15 : 150
/** Each client has one mailbox per this number of mails. */
const MAILS_PER_MAILBOX = 30
const READ_EVERY = 3

/** Of 50 mails, 40 have 4 KB, 9 have 20 and one has 200. */
const MAILS = [4, 20, 200].map((kb) => mailText(kb * 1024))
const mailAt = (index: number) => MAILS[index % 50 === 0 ? 2 : index % 5 === 0 ? 1 : 0] ?? ''

const MOMENTS = ['idle', 'highest', 'after the rest'] as const
type Measured = Record<(typeof MOMENTS)[number], Map<string, number>>

const folder = benchFolder()
// A copy of its own: PSS would count only a share of the pages that the service has in common with this process.
const node = join(folder.path, 'node')
cpSync(process.execPath, node)

interface Contestant {
  name: string
  root: string
  under?: string[]
}

async function start({ root, under = [] }: Contestant) {
  const dns = await openDnsServer({})
  const env = {
    ...TRUST_LOOPBACK,
    MAYFLY_HTTP_THREADS: 'auto',
    MAYFLY_SMTP_THREADS: 'auto',
    MAYFLY_AUTH_CHECKS: 'on',
    MAYFLY_DNS: dns.server,
  }
  const mayfly = await startMayfly(benchFolder().inside('data'), env, {
    root,
    under,
    command: [node, SOURCE, 'serve'],
  })
  const stop = async () => {
    await mayfly.stop()
    await dns.close()
  }
  return { mayfly, stop }
}

async function measure(contestant: Contestant): Promise<Measured> {
  const { mayfly, stop } = await start(contestant)
  await pause(IDLE_SECONDS * 1000)
  const idle = memoryByProcess(mayfly.pid)
  let highest = idle
  const sampling = setInterval(() => {
    const now = memoryByProcess(mayfly.pid)
    if (sumOf(now) > sumOf(highest)) highest = now
  }, SAMPLE_MS)
  await Promise.all(Array.from({ length: CLIENTS }, (_, index) => runClient(mayfly, index)))
  await pause(REST_SECONDS * 1000)
  clearInterval(sampling)
  const after = memoryByProcess(mayfly.pid)
  await stop()
  return { idle, highest, 'after the rest': after }
}

/** Sends its mails one after the other, lists the mailbox after each, and reads one mail in three. */
async function runClient(mayfly: Mayfly, number: number): Promise<void> {
  const client = proxiedClient(`192.0.2.${number + 1}`, mayfly)
  const agent = new Agent({ keepAlive: true })
  const smtp = await client.smtp()
  const get = async (path: string, token: string) => {
    let { status, body } = await client.send(path, { token, agent })
    // With one parser, a queue of reads may be full: a client would try again.
    while (status === 503) {
      await pause(RETRY_MS)
      ;({ status, body } = await client.send(path, { token, agent }))
    }
    if (status !== 200) throw new Error(`${path}: ${status} ${body}`)
    return body
  }
  let box = await client.session()
  for (let index = 0; index < MAILS_PER_CLIENT; index += 1) {
    if (index % MAILS_PER_MAILBOX === MAILS_PER_MAILBOX - 1) box = await client.session()
    const { code, text } = await smtp.send({ to: [box.email], raw: mailAt(index + number) })
    if (code !== 250) throw new Error(`mail: ${code} ${text}`)
    const list = await get('/api/check-mail', box.token)
    const { messages } = JSON.parse(String(list)) as { messages: { id: number }[] }
    if (index % READ_EVERY === 0) await get(`/api/read-mail?id=${messages[0]?.id}`, box.token)
  }
  smtp.close()
  agent.destroy()
}

const sumOf = (values: ReadonlyMap<string, number>) =>
  values.values().reduce((sum, one) => sum + one, 0)

async function main(): Promise<void> {
  reportHeader('Memory', 'memory', against)
  const mails = CLIENTS * MAILS_PER_CLIENT
  say(
    `- Settings: \`bin/mayfly.js serve\` from the build, threads as by default; ${ROUNDS} rounds, each with a new data directory`,
    `- Load: ${CLIENTS} clients, ${mails} mails (80 % of 4 KB, 18 % of 20, 2 % of 200), a poll after each, and every third mail is read, with its sender checks; as fast as the service responds; then ${REST_SECONDS} s of rest`,
    `- MB: PSS of all processes, and of each kind. Idle: ${IDLE_SECONDS} s after the start. Highest: sampled every ${SAMPLE_MS} ms from the load to the end.`,
  )
  const group = openMemoryGroup(LIMIT_MB)
  const contestants: Contestant[] = [
    { name: 'here', root: ROOT },
    ...(group ? [{ name: `in ${LIMIT_MB} MB`, root: ROOT, under: group.under }] : []),
    ...(against ? [{ name: 'against', root: against }] : []),
  ]
  for (const root of new Set(contestants.map((one) => one.root))) {
    execFileSync('npm', ['run', '--silent', 'build'], {
      cwd: root,
      stdio: ['ignore', 2, 'inherit'],
    })
  }
  const results = await alternate(contestants, ROUNDS, measure, false)
  const columns = MOMENTS.flatMap((moment) => contestants.map(({ name }) => ({ moment, name })))
  const valuesOf = (moment: (typeof MOMENTS)[number], name: string, process?: string) =>
    (results.get(name) ?? []).map(({ [moment]: mb }) =>
      process === undefined ? sumOf(mb) : (mb.get(process) ?? 0),
    )
  const processes = new Set(
    results
      .values()
      .toArray()
      .flat()
      .flatMap((measured) => MOMENTS.flatMap((moment) => [...measured[moment].keys()])),
  )
  reportTable(
    ['MB', ...columns.map(({ moment, name }) => `${moment}, ${name}`)],
    [undefined, ...processes].map((process) => [
      process ?? 'all',
      ...columns.map(({ moment, name }) => spread(valuesOf(moment, name, process))),
    ]),
  )
  for (const [moment, most] of [
    ['idle', 120],
    ['highest', 300],
    ['after the rest', 220],
  ] as const) {
    const mb = median(valuesOf(moment, 'here'))
    reportGoal(`at most ${most} MB ${moment}`, mb, mb <= most)
  }
  if (!group) return say('', 'No control group with a limit could be made: that needs root.')
  const reportKills = (load: string) => {
    const kills = group.kills()
    reportGoal(`nothing killed in a control group of ${LIMIT_MB} MB, ${load}`, kills, kills === 0)
    const peak = Math.round(group.peakMb())
    say(`- The kernel counted at most ${peak} MB there so far, with its cache of files.`)
  }
  reportKills('with the load above')
  const { mayfly, stop } = await start({ name: 'large', root: ROOT, under: group.under })
  const counts = await sendLargeMail(mayfly)
  await stop()
  const accepted = counts.get('mail 250') ?? 0
  reportGoal(
    `250 for at least half of ${LARGE_MAILS} large mails`,
    accepted,
    accepted >= LARGE_MAILS / 2,
  )
  say(
    `- With large mail there: ${[...counts].map(([what, count]) => `${what}: ${count}`).join(', ')}.`,
  )
  reportKills('with large mail')
}

await main()
