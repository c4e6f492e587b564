import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ImapFlow } from 'imapflow'
import { checkMail, createSession } from '../test/support/api-client.ts'
import { openDovecot } from '../test/support/dovecot.ts'
import { startMayfly } from './contestants/mayfly.ts'
import { quick } from './tools/options.ts'
import { benchFolder, onExit } from './tools/processes.ts'
import { p50AndP99, progress, reportHeader, reportTable, say } from './tools/report.ts'

// Latency from delivery to an account until a long-polling check-mail returns the mail. A plain IMAP client in IDLE on the
// same folder shows how much of it is the IMAP server's own delay.

const ROUNDS = quick ? 10 : 50
const EMAIL = 'joe@mail.test'
const PASSWORD = 'bench-password'

async function main(): Promise<void> {
  reportHeader('Latency from an IMAP account to a waiting client', 'imap-visible')
  say(`- Settings: ${ROUNDS} sequential mails, Dovecot on the same machine, IDLE`)
  const dovecot = await openDovecot({ users: { [EMAIL]: PASSWORD } })
  onExit(() => void dovecot.close())
  const folder = benchFolder()
  const accounts = join(folder.path, 'accounts.json')
  const server = { host: '127.0.0.1', port: dovecot.port, tls: false }
  writeFileSync(accounts, JSON.stringify([{ email: EMAIL, password: PASSWORD, ...server }]))
  const mayfly = await startMayfly(folder.inside('data'), { MAYFLY_GMAIL_ACCOUNTS_FILE: accounts })
  const { email, token } = await createAlias(mayfly.url)
  const idle = await openIdleClient(dovecot.port)

  const times: { idle: number[]; poll: number[] } = { idle: [], poll: [] }
  let sinceId = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    progress(`mail ${round + 1} of ${ROUNDS}`)
    const notified = idle.notified()
    const answered = checkMail(mayfly.url, token, `&wait=55&since_id=${sinceId}`).then((list) => {
      sinceId = list[0]?.id ?? sinceId
      return performance.now()
    })
    // Lets the request arrive and start waiting.
    await pause(50)
    const start = performance.now()
    dovecot.deliver(EMAIL, `To: ${email}\nSubject: mail ${round}\n\nhello\n`)
    times.idle.push((await notified) - start)
    times.poll.push((await answered) - start)
  }
  const difference = times.poll.map((time, index) => time - (times.idle[index] ?? 0))
  reportTable(
    ['from delivery', 'p50 ms', 'p99 ms'],
    [
      ['plain IMAP client in IDLE notified', ...p50AndP99(times.idle)],
      ['long-polling check-mail answered', ...p50AndP99(times.poll)],
      ['difference', ...p50AndP99(difference)],
    ],
  )
  await idle.close()
  await mayfly.stop()
  await dovecot.close()
}

/** Retries until the account is healthy and issues aliases. */
async function createAlias(url: string): Promise<{ email: string; token: string }> {
  for (;;) {
    try {
      return await createSession(url, { use_gmail: '1', prefix: 'bench' })
    } catch {
      await pause(100)
    }
  }
}

async function openIdleClient(port: number) {
  const auth = { user: EMAIL, pass: PASSWORD }
  const client = new ImapFlow({ host: '127.0.0.1', port, secure: false, auth, logger: false })
  await client.connect()
  await client.mailboxOpen('INBOX')
  void client.idle()
  return {
    notified: () =>
      new Promise<number>((resolve) => client.once('exists', () => resolve(performance.now()))),
    close: () => client.logout(),
  }
}

await main()
