import { join } from 'node:path'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { runLoad } from './tools/http-load.ts'
import { whileSending } from './tools/intake.ts'
import { writeMail } from './tools/mail-text.ts'
import { quick } from './tools/options.ts'
import { benchFolder } from './tools/processes.ts'
import {
  figure,
  median,
  p50AndP99,
  progress,
  reportGoal,
  reportHeader,
  reportTable,
  say,
} from './tools/report.ts'
import {
  measureVisibility,
  type VisibilityOptions,
  type VisibilityTimes,
} from './tools/visibility.ts'

// Latency from the last byte of DATA until a long-polling check-mail returns the mail, and until the sender gets its 250.

const MAILS = quick ? 100 : 1_000
const MAX_SECONDS = quick ? 10 : 60

async function main(): Promise<void> {
  reportHeader('Latency from end of DATA to a waiting client', 'visible')
  say(
    `- Settings: up to ${MAILS} sequential mails of 4 KB (at most ${MAX_SECONDS} s), each awaited by a long-polling check-mail; client, load and service on the same machine`,
    '- intake: smtp-source, 4 KB, one connection per mail, 20 senders, to another mailbox; polls: wrk, 16 keep-alive connections',
  )
  const folder = benchFolder()
  const mayfly = await startMayfly(folder.inside('mayfly'))
  const file = writeMail(join(folder.path, 'mail'), 4096)
  const sending = { file, reuse: false, senders: 20 }
  const options = { sender: mayfly, client: mayfly, mails: MAILS, maxSeconds: MAX_SECONDS }
  await measureVisibility({ ...options, mails: 50 })

  progress('idle')
  const idle = await measureVisibility(options)
  progress('during intake')
  const intake = await whileSending(mayfly, sending, () => measureVisibility(options))
  progress('during intake and polling')
  const both = await whileSending(mayfly, sending, () => whilePolling(mayfly, options))

  reportTable(
    ['load', 'mails', 'visible p50 ms', 'p99', '250 p50 ms', 'p99'],
    [
      ['none', ...cells(idle)],
      [`intake, ${figure(intake.mails)} mails/s`, ...cells(intake.result)],
      [
        `intake and polls, ${figure(both.mails)} mails/s and ${figure(both.result.polls)} polls/s`,
        ...cells(both.result.times),
      ],
    ],
  )
  const medianMs = median(idle.visible)
  reportGoal('median time to visible under 10 ms when idle', medianMs, medianMs < 10)
  await mayfly.stop()
}

async function whilePolling(
  mayfly: Mayfly,
  options: VisibilityOptions,
): Promise<{ times: VisibilityTimes; polls: number }> {
  const { token } = await mayfly.session()
  const url = `${mayfly.url}/api/check-mail?token=${token}`
  let polls = 0
  let stopped = false
  const polling = (async () => {
    while (!stopped) ({ perSecond: polls } = await runLoad({ url, seconds: 2, connections: 16 }))
  })()
  const times = await measureVisibility(options)
  stopped = true
  await polling
  return { times, polls }
}

function cells({ visible, accepted }: VisibilityTimes): string[] {
  return [String(visible.length), ...p50AndP99(visible), ...p50AndP99(accepted)]
}

await main()
