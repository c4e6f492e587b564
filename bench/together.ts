import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { type LoadResult, runLoad } from './tools/http-load.ts'
import { sendMails, whileSending } from './tools/intake.ts'
import { writeMail } from './tools/mail-text.ts'
import { quick } from './tools/options.ts'
import { benchFolder } from './tools/processes.ts'
import {
  alternate,
  figure,
  median,
  reportHeader,
  reportTable,
  say,
  spread,
} from './tools/report.ts'

// Throughput of intake and of polling when both run at full load.

const ROUNDS = quick ? 2 : 5
const SECONDS = quick ? 1 : 4

interface Rates {
  mails: number
  polls: number
  p99Ms: number
}

async function main(): Promise<void> {
  reportHeader('Intake and polling combined', 'together')
  say(
    `- Settings: ${ROUNDS} rounds of ${SECONDS} s, alternating; intake: smtp-source, 4 KB, 20 senders; polls: wrk, 32 keep-alive connections, one mailbox of 10 messages that receives no mail during the run; all on the same machine`,
  )
  const folder = benchFolder()
  const mayfly = await startMayfly(folder.inside('mayfly'))
  const file = writeMail(join(folder.path, 'mail'), 4096)
  const rows: string[][] = []
  for (const reuse of [false, true]) rows.push(...(await measure(mayfly, file, reuse)))
  reportTable(['intake', 'load', 'mails/s', 'of alone', 'polls/s', 'of alone', 'poll p99 ms'], rows)
  await mayfly.stop()
}

async function measure(mayfly: Mayfly, file: string, reuse: boolean): Promise<string[][]> {
  const url = await mailboxOfTen(mayfly, file)
  const poll = () => runLoad({ url, seconds: SECONDS, connections: 32 })
  const results = await alternate(
    [{ name: 'intake alone' }, { name: 'polls alone' }, { name: 'both' }],
    ROUNDS,
    async ({ name }): Promise<Rates> => {
      if (name === 'polls alone') {
        const { perSecond, p99Ms } = await poll()
        return { mails: 0, polls: perSecond, p99Ms }
      }
      const wait = () => pause(SECONDS * 1000).then(() => undefined)
      const work: () => Promise<LoadResult | undefined> = name === 'both' ? poll : wait
      const { mails, result } = await whileSending(mayfly, { file, reuse, senders: 20 }, work)
      return { mails, polls: result?.perSecond ?? 0, p99Ms: result?.p99Ms ?? Number.NaN }
    },
  )
  const medianRate = (name: string, field: keyof Rates) =>
    median((results.get(name) ?? []).map((rates) => rates[field]))
  return [...results].map(([name, list]) => [
    reuse ? 'reused connections' : 'one connection per mail',
    name,
    name === 'polls alone' ? '-' : spread(list.map(({ mails }) => mails)),
    name === 'both'
      ? figure(medianRate('both', 'mails') / medianRate('intake alone', 'mails'))
      : '',
    name === 'intake alone' ? '-' : spread(list.map(({ polls }) => polls)),
    name === 'both' ? figure(medianRate('both', 'polls') / medianRate('polls alone', 'polls')) : '',
    figure(medianRate(name, 'p99Ms')),
  ])
}

async function mailboxOfTen(mayfly: Mayfly, file: string): Promise<string> {
  const { email, token } = await mayfly.session()
  await sendMails({ port: mayfly.smtpPort, to: email, mails: 10, senders: 1, reuse: true, file })
  return `${mayfly.url}/api/check-mail?token=${token}`
}

await main()
