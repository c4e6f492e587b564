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
  let last: Promise<void> = Promise.resolve()
  const receiver = await openReceiver((subject) => {
    const number = Number(subject)
    received.push(number)
    tally.took('webhook', performance.now() - (sentAt.get(number) ?? Number.NaN))
  })
  const query = new URLSearchParams({ url: receiver.url, to: HOOK })
  await request(`/webhooks?${query}`, { method: 'POST', token: key })

  async function sendNext(): Promise<void> {
    const { number } = await senders.send(HOOK, () => {
      const next = sentAt.size + 1
      sentAt.set(next, performance.now())
      return { number: next, raw: `From: a@sender.test\r\nSubject: ${next}\r\n\r\n` }
    })
    accepted.push(number)
  }

  return {
    send(): Promise<void> {
      // One after the other, in the order in which they are to be delivered.
      last = last.then(sendNext, sendNext)
      return last
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

export type SoakAccount = Awaited<ReturnType<typeof openAccount>>

/** A Gmail account (Dovecot) and mails for its aliases: each is fetched exactly once. */
export async function openAccount(folder: string) {
  const { email, password } = ACCOUNT
  const dovecot = await openDovecot({ users: { [email]: password } })
  const file = join(folder, 'accounts.json')
  const server = { host: '127.0.0.1', port: dovecot.port, tls: false }
  writeFileSync(file, JSON.stringify([{ ...ACCOUNT, ...server }]))
  const aliases: (TestMailbox & { subjects: string[] })[] = []
  let delivered = 0

  async function addAlias(request: SoakRequest) {
    const { json } = await request('/api/create-session?use_gmail=1', { method: 'POST' })
    const alias = { ...(json as TestMailbox), subjects: [] as string[] }
    aliases.push(alias)
    return alias
  }

  async function aliasFaults(url: string, { token, subjects }: (typeof aliases)[number]) {
    const list = async () =>
      (await checkMail(url, token, '&limit=500')).map(({ subject }) => subject)
    const isComplete = async () => new Set(await list()).size === subjects.length
    await waitUntil(isComplete).catch(() => 'reported below')
    return fetchFaults(await list(), subjects, { isOver: true })
  }

  return {
    env: { MAYFLY_GMAIL_ACCOUNTS_FILE: file },
    addAlias,
    async deliver(request: SoakRequest): Promise<void> {
      const current = aliases.find(({ subjects }) => subjects.length < ALIAS_MAILS)
      const alias = current ?? (await addAlias(request))
      delivered += 1
      alias.subjects.push(String(delivered))
      const headers = `Delivered-To: ${alias.email}\nTo: ${alias.email}\nSubject: ${delivered}`
      dovecot.deliver(email, `${headers}\nMessage-ID: <${delivered}@sender.test>\n\nHello\n`)
    },
    async faults(url: string): Promise<string[]> {
      return (await Promise.all(aliases.map((alias) => aliasFaults(url, alias)))).flat()
    },
    close: dovecot.close,
  }
}
