import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startMayfly } from './contestants/mayfly.ts'
import { sendMails } from './tools/intake.ts'
import { writeMail } from './tools/mail-text.ts'
import { quick } from './tools/options.ts'
import { benchFolder, memoryOf } from './tools/processes.ts'
import { figure, progress, reportGoal, reportHeader, reportTable, say } from './tools/report.ts'

// Does memory use grow with the number of mails received?

const STEPS = quick ? [1_000, 2_000, 5_000] : [1_000, 20_000, 60_000, 100_000]
const SETTLE_SECONDS = quick ? 1 : 10

async function main(): Promise<void> {
  reportHeader('Memory', 'memory')
  say(
    `- Settings: mails of 10 KB from smtp-source, 20 senders, reused connections, one mailbox per 1,000 mails; measured ${SETTLE_SECONDS} s after the last one`,
    '- Sum over all processes of the service. "resident" includes file-backed pages, such as the mapped database, which the kernel can reclaim; "anonymous" excludes them.',
  )
  const folder = benchFolder()
  const mayfly = await startMayfly(folder.inside('mayfly'))
  const file = writeMail(join(folder.path, 'mail'), 10_240)
  const samples = [{ mails: 0, ...memoryOf(mayfly.pid) }]
  let sent = 0
  for (const mails of STEPS) {
    progress(`up to ${mails} mails`)
    for (; sent < mails; sent += 1_000) {
      const { email } = await mayfly.session()
      const sending = { port: mayfly.smtpPort, to: email, mails: 1_000, senders: 20 }
      await sendMails({ ...sending, reuse: true, file })
    }
    await pause(SETTLE_SECONDS * 1000)
    samples.push({ mails, ...memoryOf(mayfly.pid) })
  }
  reportTable(
    ['mails', 'resident MB', 'anonymous MB'],
    samples.map(({ mails, rssMb, anonymousMb }) => [
      mails.toLocaleString('en-US'),
      figure(rssMb),
      figure(anonymousMb),
    ]),
  )
  const [first, last] = [samples[2], samples.at(-1)]
  if (!first || !last) throw new Error('unreachable: at least three samples')
  const growthMb = last.rssMb - first.rssMb
  const span = `${first.mails.toLocaleString('en-US')} to ${last.mails.toLocaleString('en-US')} mails`
  reportGoal(`growth of resident MB from ${span}, at most 60`, growthMb, growthMb <= 60)
  await mayfly.stop()
}

await main()
