import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ImapFlow } from 'imapflow'
import { openDovecot } from '../test/kit/gmail/dovecot.ts'
import { checkMail, createSession } from '../test/kit/http/api-client.ts'
import { openRedis } from '../test/kit/redis/redis.ts'
import { startMayfly } from './contestants/mayfly.ts'
import { startPostgres } from './contestants/postgres.ts'
import { whileSending } from './tools/intake.ts'
import { writeMail } from './tools/mail-text.ts'
import { options, quick } from './tools/options.ts'
import { benchFolder, onExit } from './tools/processes.ts'
import { figure, p50AndP99, progress, reportHeader, reportTable, say } from './tools/report.ts'
import { measureVisibility, type VisibilityTimes } from './tools/visibility.ts'

// How long does a mail take to reach a client that waits for it in check-mail: on one node, on another node, and from a
// Gmail account? `--part node`, `nodes` or `gmail` runs only that.

const MAILS = quick ? 50 : 500
const GMAIL_MAILS = quick ? 10 : 50
const MAX_SECONDS = quick ? 10 : 60
const ACCOUNT = { email: 'joe@mail.test', password: 'bench-password' }

const folder = benchFolder()

async function measureNode(): Promise<string[][]> {
  const mayfly = await startMayfly(folder.inside('node'))
  const file = writeMail(join(folder.path, 'mail'), 4096)
  const load = { sender: mayfly, client: mayfly, mails: MAILS, maxSeconds: MAX_SECONDS }
  await measureVisibility({ ...load, mails: 50 })
  const idle = await measureVisibility(load)
  const sending = { file, reuse: false, senders: 20 }
  const busy = await whileSending(mayfly, sending, () => measureVisibility(load))
  await mayfly.stop()
  return [
    ['the node that receives it', ...cells(idle)],
    [`the same, during ${figure(busy.mails)} mails/s`, ...cells(busy.result)],
  ]
}

async function measureNodes(): Promise<string[][]> {
  const [postgres, redis] = [await startPostgres(), await openRedis()]
  const env = { MAYFLY_STORE: postgres.urlOf(await postgres.database()), MAYFLY_REDIS: redis.url }
  const near = await startMayfly(folder.inside('near'), env)
  const far = await startMayfly(folder.inside('far'), env)
  const load = { sender: far, client: near, maxSeconds: MAX_SECONDS }
  const connected = await measureVisibility({ ...load, mails: MAILS })
  await redis.stop()
  // A client then polls once a second: each mail is sent at a random point of that interval.
  const delayMs = () => 10 + Math.random() * 1_000
  const stopped = await measureVisibility({ ...load, mails: MAILS / 10, delayMs })
  await near.stop()
  await far.stop()
  await redis.close()
  await postgres.close()
  return [
    ['another node', ...cells(connected)],
    ['another node, Redis stopped', ...cells(stopped)],
  ]
}

/** A plain IMAP client in IDLE on the same folder shows how much of it is the IMAP server's own delay. */
async function measureGmail(): Promise<string[][]> {
  const { email: user, password: pass } = ACCOUNT
  const dovecot = await openDovecot({ users: { [user]: pass } })
  onExit(() => void dovecot.close())
  const accounts = join(folder.path, 'accounts.json')
  const server = { host: '127.0.0.1', port: dovecot.port }
  writeFileSync(accounts, JSON.stringify([{ ...ACCOUNT, ...server, tls: false }]))
  const mayfly = await startMayfly(folder.inside('gmail'), { MAYFLY_GMAIL_ACCOUNTS_FILE: accounts })
  const { email, token } = await createAlias(mayfly.url)
  const idle = new ImapFlow({ ...server, secure: false, auth: { user, pass }, logger: false })
  await idle.connect()
  await idle.mailboxOpen('INBOX')
  void idle.idle()

  const times: { idle: number[]; poll: number[] } = { idle: [], poll: [] }
  let sinceId = 0
  for (let round = 0; round < GMAIL_MAILS; round += 1) {
    const notified = new Promise<number>((resolve) => {
      idle.once('exists', () => resolve(performance.now()))
    })
    const answered = checkMail(mayfly.url, token, `&wait=55&since_id=${sinceId}`).then((list) => {
      sinceId = list[0]?.id ?? sinceId
      return performance.now()
    })
    // Lets the request arrive and start waiting.
    await pause(50)
    const start = performance.now()
    dovecot.deliver(user, `To: ${email}\nSubject: mail ${round}\n\nhello\n`)
    times.idle.push((await notified) - start)
    times.poll.push((await answered) - start)
  }
  await idle.logout()
  await mayfly.stop()
  await dovecot.close()
  const row = (list: number[]) => [String(list.length), ...p50AndP99(list), '', '']
  return [
    ['a plain IMAP client in IDLE, from delivery', ...row(times.idle)],
    ['a node that fetches from the account, from delivery', ...row(times.poll)],
  ]
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

function cells({ visible, accepted }: VisibilityTimes): string[] {
  return [String(visible.length), ...p50AndP99(visible), ...p50AndP99(accepted)]
}

reportHeader('Latency from the end of DATA to a waiting client', 'visible')
say(
  `- Settings: up to ${MAILS} sequential mails of 4 KB, ${GMAIL_MAILS} from Gmail, each awaited by a long-polling check-mail; everything on the same machine`,
)
const rows: string[][] = []
for (const [part, measure] of Object.entries({
  node: measureNode,
  nodes: measureNodes,
  gmail: measureGmail,
})) {
  if (options.part && !options.part.includes(part)) continue
  progress(part)
  rows.push(...(await measure()))
}
reportTable(['client waits on', 'mails', 'visible p50 ms', 'p99', '250 p50 ms', 'p99'], rows)
