import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { connectSmtp, stuffed } from '../test/smtp-client.ts'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { whileSending } from './tools/intake-load.ts'
import { mailText, writeMail } from './tools/mail-text.ts'
import { describeMachine, goal, note, say, table } from './tools/report.ts'
import { benchFolder } from './tools/scratch.ts'
import { figure, median, percentile } from './tools/stats.ts'
import { request } from './tools/wrk.ts'

// How long from the last byte of DATA until a waiting check-mail has the mail, and until the sender has its 250?

const quick = process.argv.includes('--quick')
const TURNS = quick ? 100 : 1_000
const MOST_SECONDS = quick ? 10 : 60

interface Times {
  visible: number[]
  answered: number[]
}

async function main(): Promise<void> {
  say('## From the last byte to a waiting reader (bench/visible.ts)', '')
  describeMachine()
  say(
    `- Settings: up to ${TURNS} mails of 4 KB one after the other (at most ${MOST_SECONDS} s), each with a check-mail that waits for it; client, load and service on the same machine`,
    '- intake: smtp-source, 4 KB, a connection per mail, 20 senders, to another mailbox; polls: wrk, 16 kept connections',
  )
  const folder = benchFolder()
  const mayfly = await startMayfly(folder.inside('mayfly'))
  const file = writeMail(join(folder.path, 'mail'), 4096)
  const sending = { file, kept: false, senders: 20 }
  await watch(mayfly, 50)

  note('idle')
  const idle = await watch(mayfly, TURNS)
  note('while mail comes in at full speed')
  const intake = await whileSending(mayfly, sending, () => watch(mayfly, TURNS))
  note('while mail comes in and polls are answered at full speed')
  const both = await whileSending(mayfly, sending, () => whilePolling(mayfly))

  table(
    ['load', 'mails', 'visible p50 ms', 'p99', '250 after p50 ms', 'p99'],
    [
      ['none', ...cells(idle)],
      [`intake, ${figure(intake.mails)} mails/s`, ...cells(intake.result)],
      [
        `intake and polls, ${figure(both.mails)} mails/s and ${figure(both.result.polls)} polls/s`,
        ...cells(both.result.times),
      ],
    ],
  )
  const middle = median(idle.visible)
  goal('under 10 ms to visible at the median when idle', middle, middle < 10)
  await mayfly.stop()
}

async function whilePolling(mayfly: Mayfly): Promise<{ times: Times; polls: number }> {
  const { token } = await mayfly.session()
  const url = `${mayfly.url}/api/check-mail?token=${token}`
  let polls = 0
  let over = false
  const polling = (async () => {
    while (!over) ({ perSecond: polls } = await request({ url, seconds: 2, connections: 16 }))
  })()
  const times = await watch(mayfly, TURNS)
  over = true
  await polling
  return { times, polls }
}

async function watch(mayfly: Mayfly, turns: number): Promise<Times> {
  const { email, token } = await mayfly.session()
  const smtp = await connectSmtp(mayfly.smtpPort)
  const agent = new Agent({ keepAlive: true })
  const bytes = stuffed(mailText(4096).replaceAll('\n', '\r\n'))
  await smtp.say('EHLO sender.test')
  const times: Times = { visible: [], answered: [] }
  const latest = performance.now() + MOST_SECONDS * 1000
  let sinceId = 0
  for (let turn = 0; turn < turns && performance.now() < latest; turn += 1) {
    const path = `/api/check-mail?token=${token}&wait=30&since_id=${sinceId}`
    const arrival = listed(`${mayfly.url}${path}`, agent)
    for (const line of ['MAIL FROM:<ann@sender.test>', `RCPT TO:<${email}>`, 'DATA']) {
      const { code, text: reply } = await smtp.say(line)
      if (code !== 250 && code !== 354) throw new Error(`${line} was answered with ${reply}`)
    }
    // Time for the request to arrive and wait.
    await pause(10)
    const start = performance.now()
    smtp.write(bytes)
    const answer = smtp.reply().then(() => times.answered.push(performance.now() - start))
    const { at, newest } = await arrival
    times.visible.push(at - start)
    await answer
    sinceId = newest
  }
  smtp.close()
  agent.destroy()
  return times
}

/** When the whole answer is there, and the newest id in it. */
function listed(url: string, agent: Agent): Promise<{ at: number; newest: number }> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, async (response) => {
      const body = await text(response)
      const at = performance.now()
      const { messages } = JSON.parse(body) as { messages?: { id: number }[] }
      const newest = messages?.[0]?.id
      if (newest === undefined) reject(new Error(`no mail came: ${body}`))
      else resolve({ at, newest })
    }).on('error', reject)
  })
}

function cells({ visible, answered }: Times): string[] {
  return [
    String(visible.length),
    ...[visible, answered].flatMap((times) => [
      figure(median(times)),
      figure(percentile(times, 0.99)),
    ]),
  ]
}

await main()
