import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ImapFlow } from 'imapflow'
import { checkMail, createSession } from '../test/support/api-client.ts'
import { openDovecot } from '../test/support/dovecot.ts'
import { startMayfly } from './contestants/mayfly.ts'
import { benchFolder, onExit } from './tools/processes.ts'
import {
  figure,
  median,
  percentile,
  progress,
  reportMachine,
  reportTable,
  say,
} from './tools/report.ts'

// How long from a mail's arrival in an account to the answer of a check-mail that waits for it: beside a bare client that
// idles in the same folder, so that what the server itself takes to tell can be seen apart.

const ROUNDS = process.argv.includes('--quick') ? 10 : 50
const EMAIL = 'joe@mail.test'
const PASSWORD = 'bench-password'

async function main(): Promise<void> {
  say('## From an account to who waits (bench/imap-visible.ts)', '')
  reportMachine()
  say(`- Settings: ${ROUNDS} mails one after the other, Dovecot on the same machine, IDLE`)
  const dovecot = await openDovecot({ users: { [EMAIL]: PASSWORD } })
  onExit(() => void dovecot.close())
  const folder = benchFolder()
  const accounts = join(folder.path, 'accounts.json')
  const server = { host: '127.0.0.1', port: dovecot.port, tls: false }
  writeFileSync(accounts, JSON.stringify([{ email: EMAIL, password: PASSWORD, ...server }]))
  const mayfly = await startMayfly(folder.inside('data'), { MAYFLY_GMAIL_ACCOUNTS_FILE: accounts })
  const { email, token } = await alias(mayfly.url)
  const bare = await bareClient(dovecot.port)

  const times: { bare: number[]; waiting: number[] } = { bare: [], waiting: [] }
  let sinceId = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    progress(`mail ${round + 1} of ${ROUNDS}`)
    const heard = bare.heard()
    const waiting = checkMail(mayfly.url, token, `&wait=55&since_id=${sinceId}`).then((list) => {
      sinceId = list[0]?.id ?? sinceId
      return performance.now()
    })
    // Long enough for the request to have come to its waiting: that is not what is measured.
    await pause(50)
    const start = performance.now()
    dovecot.deliver(EMAIL, `To: ${email}\nSubject: mail ${round}\n\nhello\n`)
    times.bare.push((await heard) - start)
    times.waiting.push((await waiting) - start)
  }
  const row = (name: string, list: readonly number[]) => [
    name,
    figure(median(list)),
    figure(percentile(list, 0.99)),
  ]
  const ours = times.waiting.map((time, at) => time - (times.bare[at] ?? 0))
  reportTable(
    ['from delivery', 'p50 ms', 'p99 ms'],
    [
      row('a bare client hears of it', times.bare),
      row('check-mail that waits has it', times.waiting),
      row('the difference', ours),
    ],
  )
  await bare.close()
  await mayfly.stop()
  await dovecot.close()
}

/** Until the account is fetched from, no alias can be had. */
async function alias(url: string): Promise<{ email: string; token: string }> {
  for (;;) {
    try {
      return await createSession(url, { use_gmail: '1', prefix: 'bench' })
    } catch {
      await pause(100)
    }
  }
}

async function bareClient(port: number) {
  const auth = { user: EMAIL, pass: PASSWORD }
  const client = new ImapFlow({ host: '127.0.0.1', port, secure: false, auth, logger: false })
  await client.connect()
  await client.mailboxOpen('INBOX')
  void client.idle()
  return {
    heard: () =>
      new Promise<number>((resolve) => client.once('exists', () => resolve(performance.now()))),
    close: () => client.logout(),
  }
}

await main()
