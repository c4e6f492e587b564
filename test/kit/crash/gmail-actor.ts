import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDovecot } from '../gmail/dovecot.ts'
import { checkMail, createSession } from '../http/api-client.ts'
import { tempFolder } from '../store/stores.ts'
import { waitUntil } from '../wait-until.ts'
import { type Actor, repeatUntilStopped } from './actor.ts'

const ACCOUNT = 'joe@mail.test'
const PASSWORD = 'secret-of-the-account'
// A list has no more.
const MAX_MAILS = 500
// So that it takes about as long as a batch of faults.
const PAUSE_MS = 400

/** Mails for an alias of an account: each is fetched exactly once. */
export async function gmailActor(): Promise<Actor> {
  const folder = tempFolder()
  const dovecot = await openDovecot({ users: { [ACCOUNT]: PASSWORD } })
  const file = join(folder.path, 'accounts.json')
  const server = { host: '127.0.0.1', port: dovecot.port, tls: false }
  writeFileSync(file, JSON.stringify([{ email: ACCOUNT, password: PASSWORD, ...server }]))
  let alias = { email: '', token: '' }
  const delivered: string[] = []
  const subjects = async (url: string) =>
    (await checkMail(url, alias.token, `&limit=${MAX_MAILS}`)).map(({ subject }) => subject)

  return {
    env: { MAYFLY_GMAIL_ACCOUNTS_FILE: file },
    async begin({ url }) {
      // No alias is issued until the account is known to work.
      await waitUntil(async () => {
        alias = await createSession(url, { use_gmail: '1' }).catch(() => alias)
        return alias.token !== ''
      })
    },
    run: (_, round) =>
      repeatUntilStopped(round, PAUSE_MS, async () => {
        if (delivered.length === MAX_MAILS) return
        const subject = String(delivered.length + 1)
        delivered.push(subject)
        const headers = `Delivered-To: ${alias.email}\nTo: ${alias.email}\nSubject: ${subject}`
        dovecot.deliver(ACCOUNT, `${headers}\nMessage-ID: <${subject}@sender.test>\n\nHello\n`)
      }),
    faults: async ({ url }) => fetchFaults(await subjects(url), delivered, { isOver: false }),
    async drain({ url }) {
      let found: string[] = []
      const isComplete = async () => {
        found = await subjects(url)
        return new Set(found).size === delivered.length
      }
      await waitUntil(isComplete).catch(() => 'reported below')
      return fetchFaults(found, delivered, { isOver: true })
    },
    counts: () => ({ 'fetched mails': delivered.length }),
    secrets: () => [PASSWORD, alias.token, alias.email],
    async close() {
      await dovecot.close()
      folder.remove()
    },
  }
}

/** What is wrong with the mails that were fetched, by the subjects of those that were delivered. `isOver`: all must be there. */
export function fetchFaults(
  subjects: readonly string[],
  delivered: readonly string[],
  { isOver }: { isOver: boolean },
): string[] {
  const twice = subjects.filter((subject, at) => subjects.indexOf(subject) !== at)
  const stray = subjects.filter((subject) => !delivered.includes(subject))
  const missing = delivered.filter((subject) => !subjects.includes(subject))
  return [
    ...twice.map((subject) => `mail ${subject} of the account was stored twice`),
    ...stray.map((subject) => `mail ${subject} was not delivered for this alias`),
    ...(isOver ? missing : []).map((subject) => `mail ${subject} of the account was not fetched`),
  ]
}
