import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fetchFaults } from '../../../test/kit/crash/gmail-actor.ts'
import { orderFaults } from '../../../test/kit/crash/key-actors.ts'
import { openDovecot } from '../../../test/kit/gmail/dovecot.ts'
import { checkMail } from '../../../test/kit/http/api-client.ts'
import type { TestMailbox } from '../../../test/kit/store/ledger.ts'
import { waitUntil } from '../../../test/kit/wait-until.ts'
import { openReceiver } from '../webhook-receiver.ts'
import type { SoakRequest } from './requests.ts'
import type { Senders } from './senders.ts'
import type { Tally } from './tally.ts'

// Mail that the service delivers to a webhook, and mail that it fetches from a Gmail account.

const HOOK = 'hook@pool.test'

interface WebhookDeps {
  request: SoakRequest
  senders: Senders
  tally: Tally
  key: string
}

/** Numbered mails for a webhook: each is delivered at least once, in order. */
export async function openWebhook({ request, senders, tally, key }: WebhookDeps) {
  const sentAt = new Map<number, number>()
  const accepted: number[] = []
  const received: number[] = []
  let last: Promise<unknown> = Promise.resolve()
  const receiver = await openReceiver((subject) => {
    const number = Number(subject)
    received.push(number)
    tally.took('webhook', performance.now() - (sentAt.get(number) ?? Number.NaN))
  })
  const query = new URLSearchParams({ url: receiver.url, to: HOOK })
  await request(`/webhooks?${query}`, { method: 'POST', token: key })

  async function sendNext(): Promise<true> {
    const { number } = await senders.send(HOOK, () => {
      const next = sentAt.size + 1
      sentAt.set(next, performance.now())
      return { number: next, raw: `From: a@sender.test\r\nSubject: ${next}\r\n\r\n` }
    })
    accepted.push(number)
    return true
  }

  return {
    send(): Promise<true> {
      // One after the other, in the order in which they are to be delivered.
      const next = last.then(sendNext, sendNext)
      last = next
      return next
    },
    async faults(): Promise<string[]> {
      const missing = () => accepted.filter((number) => !received.includes(number))
      await waitUntil(() => missing().length === 0).catch(() => 'reported below')
      return [
        ...orderFaults(received, sentAt.size),
        ...missing().map((number) => `mail ${number} never came to the webhook`),
      ]
    },
    close: receiver.close,
  }
}

const ACCOUNT = { email: 'joe@mail.test', password: 'app-password' }
/** A list has at most 500. */
const ALIAS_MAILS = 400
/** Longer than any upgrade. */
const MAX_FETCH_MS = 300_000

interface Alias extends TestMailbox {
  subjects: string[]
  /** The newest message that was listed. */
  newest: number
}

async function untilFetched(request: SoakRequest, alias: Alias, subject: string): Promise<void> {
  const { token } = alias
  let since = alias.newest
  for (const start = performance.now(); performance.now() - start < MAX_FETCH_MS; ) {
    const path = `/api/check-mail?wait=30&limit=500&since_id=${since}`
    const { messages } = (await request(path, { token })).json as {
      messages: { id: number; subject: string }[]
    }
    since = Math.max(since, ...messages.map(({ id }) => id))
    alias.newest = Math.max(alias.newest, since)
    if (messages.some((message) => message.subject === subject)) return
  }
  throw new Error('a mail was not fetched')
}

/** Such as connections of the service that are never closed. */
export function dovecotErrors(log: string): string[] {
  return log.split('\n').filter((line) => /: (Error|Fatal|Panic): |Maximum number of/.test(line))
}

export type SoakAccount = Awaited<ReturnType<typeof openAccount>>

/** A Gmail account (Dovecot) and mails for its aliases: each is fetched exactly once. */
export async function openAccount(folder: string) {
  const { email, password } = ACCOUNT
  const dovecot = await openDovecot({ users: { [email]: password } })
  const file = join(folder, 'accounts.json')
  const server = { host: '127.0.0.1', port: dovecot.port, tls: false }
  writeFileSync(file, JSON.stringify([{ ...ACCOUNT, ...server }]))
  const aliases: Alias[] = []
  const secrets: string[] = [password]
  let delivered = 0

  async function addAlias(request: SoakRequest) {
    const { json } = await request('/api/create-session?use_gmail=1', { method: 'POST' })
    const alias = { ...(json as TestMailbox), subjects: [], newest: 0 }
    aliases.push(alias)
    secrets.push(alias.email)
    return alias
  }

  async function aliasFaults(url: string, { token, subjects }: Alias) {
    const list = async () =>
      (await checkMail(url, token, '&limit=500')).map(({ subject }) => subject)
    const isComplete = async () => new Set(await list()).size === subjects.length
    await waitUntil(isComplete).catch(() => 'reported below')
    return fetchFaults(await list(), subjects, { isOver: true })
  }

  return {
    secrets,
    env: { MAYFLY_GMAIL_ACCOUNTS_FILE: file },
    addAlias,
    /** Resolves when the mail is in the mailbox of its alias. */
    async deliver(request: SoakRequest, tally: Tally): Promise<true> {
      const current = aliases.find(({ subjects }) => subjects.length < ALIAS_MAILS)
      const alias = current ?? (await addAlias(request))
      delivered += 1
      const subject = String(delivered)
      alias.subjects.push(subject)
      const headers = `Delivered-To: ${alias.email}\nTo: ${alias.email}\nSubject: ${subject}`
      const start = performance.now()
      dovecot.deliver(email, `${headers}\nMessage-ID: <${subject}@sender.test>\n\nHello\n`)
      await untilFetched(request, alias, subject)
      tally.took('fetch', performance.now() - start)
      return true
    },
    async faults(url: string): Promise<string[]> {
      const faults = await Promise.all(aliases.map((alias) => aliasFaults(url, alias)))
      return [...faults.flat(), ...dovecotErrors(dovecot.log())]
    },
    close: dovecot.close,
  }
}
