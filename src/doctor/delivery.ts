import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sampleHost } from '../base/address.ts'
import { type CheckResult, failure, ok, skipped } from '../base/check-result.ts'
import type { SmtpClient, SmtpReply } from '../base/smtp-client.ts'
import { OPERATOR } from '../mail/rules/session.ts'
import type { CheckContext, Facts } from './facts.ts'
import { sameName } from './rules/dns-rules.ts'
import { recordsOf } from './rules/result.ts'
import { deliveryFix, greetsAs } from './rules/smtp-rules.ts'

async function withClient<T>(client: SmtpClient, use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } finally {
    client.close()
  }
}

const FOREIGN = 'someone@relay-check.invalid'

/** Tries recipients of other domains, in the notations that mail servers have been tricked with. */
export async function checkRelay(facts: Facts, signal: AbortSignal): Promise<CheckResult> {
  const { host, domains } = facts
  const own = sampleHost(domains[0] ?? host)
  const recipients = [
    FOREIGN,
    `"${FOREIGN}"@${own}`,
    `${FOREIGN.replace('@', '%')}@${own}`,
    `@${own}:${FOREIGN}`,
  ]
  const smtp = await facts.connect(signal)
  return await withClient(smtp, async () => {
    await smtp.command(`EHLO ${host}`)
    const { code: mailCode, text } = await smtp.command(`MAIL FROM:<postmaster@${own}>`)
    if (mailCode !== 250) return skipped(`MAIL is refused: ${text}`)
    for (const recipient of recipients) {
      const { code, text: reply } = await smtp.command(`RCPT TO:<${recipient}>`)
      if (code >= 200 && code < 300) {
        return failure(
          `RCPT TO:<${recipient}> is accepted: others can send mail through this server`,
          'The server in front of Mayfly relays mail: make it accept only your domains (Postfix: relay_domains), or let senders reach Mayfly directly',
        )
      }
      if (code < 500) return skipped(`RCPT TO:<${recipient}>: ${reply}`)
    }
    return ok('mail for other domains is rejected')
  })
}

/** Delivers a mail to the postmaster of the domain the way others do, finds it in the store and removes it. */
export async function checkDelivery(
  facts: Facts,
  name: string,
  signal: AbortSignal,
): Promise<CheckResult> {
  const { host, store, now } = facts
  const domain = sampleHost(name)
  if (!store) return skipped('see store and postgres')
  const exchanges = recordsOf(await facts.dns.mx(domain))
  if (!exchanges.some(({ exchange }) => sameName(exchange, host))) return skipped('see mx')
  const open = (await facts.publicSmtp()).find((one) => 'greeting' in one)
  if (!open || !greetsAs(host, open)) return skipped('see smtp-public')
  const subject = `${SUBJECT}${randomUUID()}`
  const smtp = await facts.connectSmtp(open.address, facts.publicPorts.smtp, signal)
  const raw = testMail(domain, subject, now())
  const { reply, isSent } = await withClient(smtp, () => deliver(smtp, { host, domain, raw }))
  const isRefused = reply.code >= 400
  const attempts = reply.code === 0 ? ATTEMPTS_WITHOUT_REPLY : 1
  const isFound =
    isSent && !isRefused && (await removeTestMails(store, subject, { now: now(), attempts }))
  if (isRefused || reply.code === 0) {
    return failure(`postmaster@${domain}: ${reply.text}`, deliveryFix(reply, name))
  }
  if (isFound) return ok(`a message to postmaster@${domain} arrived and was deleted again`)
  return failure(
    `${open.address} accepted a mail, but it is not in this store`,
    `Another installation answers at ${open.address}: run this command there, or correct the address of ${host}`,
  )
}

const SUBJECT = 'Mayfly check '
const TEXT = 'A test by mayfly doctor, which deletes it.'

function testMail(domain: string, subject: string, now: Date): string {
  const address = `postmaster@${domain}`
  return [
    `From: Mayfly <${address}>`,
    `To: <${address}>`,
    `Subject: ${subject}`,
    `Date: ${now.toUTCString().replace('GMT', '+0000')}`,
    '',
    TEXT,
    '',
  ].join('\r\n')
}

/** `reply` is the one to the mail, or the first refusal. */
async function deliver(
  smtp: SmtpClient,
  { host, domain, raw }: { host: string; domain: string; raw: string },
): Promise<{ reply: SmtpReply; isSent: boolean }> {
  const address = `postmaster@${domain}`
  const hello = await smtp.command(`EHLO ${host}`)
  if (/^250[ -]STARTTLS\s*$/im.test(hello.text)) {
    await smtp.startTls(host)
    await smtp.command(`EHLO ${host}`)
  }
  for (const line of [`MAIL FROM:<${address}>`, `RCPT TO:<${address}>`, 'DATA']) {
    const reply = await smtp.command(line)
    if (reply.code >= 400 || reply.code === 0) return { reply, isSent: false }
  }
  return { reply: await smtp.command(`${raw}.`), isSent: true }
}

type Store = NonNullable<CheckContext['store']>

// Without a reply, the server may still store the mail.
const ATTEMPTS_WITHOUT_REPLY = 5
const RETRY_MS = 1_000
// Longer than any check takes, also on another node.
const OLD_MS = 600_000
const MAX_TEST_MAIL = 1_000

// The whole mail: whoever sends a copy loses nothing but the copy, and no other mail is ever deleted.
const TEST_MAIL = new RegExp(
  `^From: Mayfly <(postmaster@[\\w.-]+)>\\r\\nTo: <\\1>\\r\\nSubject: ${SUBJECT}[\\w-]{36}\\r\\nDate: [\\w,:+ ]{31}\\r\\n\\r\\n${RegExp.escape(TEXT)}\\r\\n$`,
)

/**
 * Removes our mail, and those of earlier runs: a check that was stopped, or a server that stored the mail late. False if ours is not in the store,
 * even after some seconds.
 */
async function removeTestMails(
  store: Store,
  subject: string,
  { now, attempts }: { now: Date; attempts: number },
): Promise<boolean> {
  const isOldTest = async (mail: Awaited<ReturnType<Store['listMessages']>>[number]) => {
    const isOld = now.getTime() - mail.receivedAt.getTime() > OLD_MS
    if (!isOld || !mail.subject.startsWith(SUBJECT) || mail.size > MAX_TEST_MAIL) return false
    const { bytes = [] } = (await store.readRaw(mail.rawId)) ?? {}
    return TEST_MAIL.test(Buffer.from(bytes).toString('latin1'))
  }
  for (let left = attempts; left > 0; left -= 1) {
    const stored = await store.listMessages(OPERATOR, { sinceId: 0, limit: 1_000 })
    for (const mail of stored) {
      if (mail.subject === subject || (await isOldTest(mail)))
        await store.deleteMessages(OPERATOR, [mail.id])
    }
    if (stored.some((mail) => mail.subject === subject)) return true
    if (left > 1) await pause(RETRY_MS)
  }
  return false
}
