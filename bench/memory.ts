import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startMayfly } from './contestants/mayfly.ts'
import { sendMails } from './tools/intake.ts'
import { writeMail } from './tools/mail-text.ts'
import { benchFolder, memoryOf } from './tools/processes.ts'
import { figure, progress, reportGoal, reportMachine, reportTable, say } from './tools/report.ts'

// Does memory grow with the mail that has gone through?

const quick = process.argv.includes('--quick')
const STEPS = quick ? [1_000, 2_000, 5_000] : [1_000, 20_000, 60_000, 100_000]
const SETTLE_SECONDS = quick ? 1 : 10

async function main(): Promise<void> {
  say('## Memory (bench/memory.ts)', '')
  reportMachine()
  say(
    `- Settings: mails of 10 KB from smtp-source, 20 senders, kept connections, spread over a mailbox per 1,000; looked at ${SETTLE_SECONDS} s after the last one`,
    '- All processes of the service together. Of "resident" the kernel can take back pages of files (the mapped database among them) at any time; "its own" is the rest.',
  )
  const folder = benchFolder()
  const mayfly = await startMayfly(folder.inside('mayfly'))
  const file = writeMail(join(folder.path, 'mail'), 10_240)
  const seen = [{ mails: 0, ...memoryOf(mayfly.pid) }]
  let sent = 0
  for (const mails of STEPS) {
    progress(`up to ${mails} mails`)
    for (; sent < mails; sent += 1_000) {
      const { email } = await mayfly.session()
      const sending = { port: mayfly.smtpPort, to: email, mails: 1_000, senders: 20 }
      await sendMails({ ...sending, kept: true, file })
    }
    await pause(SETTLE_SECONDS * 1000)
    seen.push({ mails, ...memoryOf(mayfly.pid) })
  }
  reportTable(
    ['mails', 'resident MB', 'its own MB'],
    seen.map(({ mails, rssMb, anonymousMb }) => [
      mails.toLocaleString('en-US'),
      figure(rssMb),
      figure(anonymousMb),
    ]),
  )
  const [first, last] = [seen[2], seen.at(-1)]
  if (!first || !last) throw new Error('memory was not looked at')
  const more = last.rssMb - first.rssMb
  const span = `${first.mails.toLocaleString('en-US')} to ${last.mails.toLocaleString('en-US')} mails`
  reportGoal(`resident MB more from ${span}, within 60`, more, more <= 60)
  await mayfly.stop()
}

await main()
