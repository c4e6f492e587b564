import { setTimeout as pause } from 'node:timers/promises'
import { connectSmtp, stuffed } from '../test/kit/smtp/smtp-client.ts'
import { type Mayfly, startMayfly } from './contestants/mayfly.ts'
import { acceptedAt, startData } from './tools/intake.ts'
import { mailText } from './tools/mail-text.ts'
import { quick } from './tools/options.ts'
import { benchFolder, cpuSeconds } from './tools/processes.ts'
import {
  alternate,
  figure,
  median,
  reportHeader,
  reportTable,
  say,
  spread,
} from './tools/report.ts'

// What does the mail log cost if every mail has a line of its own? In `smtp-intake` one client sends all mail, so that most lines are
// only counted.

const ROUNDS = quick ? 2 : 20
const MAILS = quick ? 200 : 3_000
const SENDERS = 40
// Lines are written once a second.
const WRITTEN_MS = 1_500

async function main(): Promise<void> {
  reportHeader('Mail log', 'mail-log')
  say(
    `- Settings: ${ROUNDS} alternating rounds of ${MAILS} mails of 4 KB, ${SENDERS} at a time, each on a connection and from a loopback address of its own; log level info, to a pipe`,
  )
  const { inside } = benchFolder()
  const services = await Promise.all(
    ['off', 'masked'].map(async (name) => ({
      name,
      ...(await startMayfly(inside(name), { MAYFLY_MAIL_LOG: name, MAYFLY_LOG_LEVEL: 'info' })),
    })),
  )
  const results = await alternate(services, ROUNDS, async (service) => {
    const before = cpuSeconds(service.pid)
    const perSecond = await send(service)
    await pause(WRITTEN_MS)
    return { perSecond, cpu: ((cpuSeconds(service.pid) - before) / MAILS) * 1000 }
  })
  const off = results.get('off') ?? []
  reportTable(
    ['MAYFLY_MAIL_LOG', 'mails/s', 'of off', 'CPU s per 1,000', 'of off'],
    [...results].map(([name, list]) => {
      const columns = (field: 'perSecond' | 'cpu') => [
        spread(list.map((one) => one[field])),
        figure(median(list.map((one, round) => one[field] / (off[round]?.[field] ?? Number.NaN)))),
      ]
      return [name, ...columns('perSecond'), ...columns('cpu')]
    }),
  )
  for (const service of services) await service.stop()
}

const RAW = stuffed(mailText(4096))
let clients = 0

async function send({ smtpPort, session }: Mayfly): Promise<number> {
  const { email } = await session()
  const start = performance.now()
  let left = MAILS
  const sendSome = async () => {
    while (left > 0) {
      left -= 1
      const smtp = await connectSmtp(smtpPort, '127.0.0.1', { localAddress: nextAddress() })
      await smtp.command('EHLO sender.test')
      await startData(smtp, email)
      smtp.write(RAW)
      await acceptedAt(smtp)
      smtp.close()
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, sendSome))
  return (MAILS / (performance.now() - start)) * 1000
}

/** From 127.1.0.0 on. */
function nextAddress(): string {
  clients += 1
  return `127.${1 + (clients >> 16)}.${(clients >> 8) & 255}.${clients & 255}`
}

await main()
