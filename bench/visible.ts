import { join } from 'node:path'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { runLoad } from './tools/http-load.ts'
import { whileSending } from './tools/intake.ts'
import { writeMail } from './tools/mail-text.ts'
import { benchFolder } from './tools/processes.ts'
import {
  figure,
  median,
  progress,
  reportGoal,
  reportMachine,
  reportTable,
  say,
} from './tools/report.ts'
import {
  measureVisibility,
  p50AndP99,
  type VisibilityOptions,
  type VisibilityTimes,
} from './tools/visibility.ts'

// How long from the last byte of DATA until a waiting check-mail has the mail, and until the sender has its 250?

const quick = process.argv.includes('--quick')
const TURNS = quick ? 100 : 1_000
const MOST_SECONDS = quick ? 10 : 60

async function main(): Promise<void> {
  say('## From the last byte to a waiting reader (bench/visible.ts)', '')
  reportMachine()
  say(
    `- Settings: up to ${TURNS} mails of 4 KB one after the other (at most ${MOST_SECONDS} s), each with a check-mail that waits for it; client, load and service on the same machine`,
    '- intake: smtp-source, 4 KB, a connection per mail, 20 senders, to another mailbox; polls: wrk, 16 kept connections',
  )
  const folder = benchFolder()
  const mayfly = await startMayfly(folder.inside('mayfly'))
  const file = writeMail(join(folder.path, 'mail'), 4096)
  const sending = { file, kept: false, senders: 20 }
  const watching = { sender: mayfly, reader: mayfly, turns: TURNS, mostSeconds: MOST_SECONDS }
  await measureVisibility({ ...watching, turns: 50 })

  progress('idle')
  const idle = await measureVisibility(watching)
  progress('while mail comes in at full speed')
  const intake = await whileSending(mayfly, sending, () => measureVisibility(watching))
  progress('while mail comes in and polls are answered at full speed')
  const both = await whileSending(mayfly, sending, () => whilePolling(mayfly, watching))

  reportTable(
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
  reportGoal('under 10 ms to visible at the median when idle', middle, middle < 10)
  await mayfly.stop()
}

async function whilePolling(
  mayfly: Mayfly,
  watching: VisibilityOptions,
): Promise<{ times: VisibilityTimes; polls: number }> {
  const { token } = await mayfly.session()
  const url = `${mayfly.url}/api/check-mail?token=${token}`
  let polls = 0
  let over = false
  const polling = (async () => {
    while (!over) ({ perSecond: polls } = await runLoad({ url, seconds: 2, connections: 16 }))
  })()
  const times = await measureVisibility(watching)
  over = true
  await polling
  return { times, polls }
}

function cells({ visible, answered }: VisibilityTimes): string[] {
  return [String(visible.length), ...p50AndP99(visible), ...p50AndP99(answered)]
}

await main()
