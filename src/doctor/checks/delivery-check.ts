import { setTimeout as pause } from 'node:timers/promises'
import { OPERATOR } from '../../mail/rules/session.ts'
import { sameName } from '../rules/dns-rules.ts'
import { type CheckResult, failure, ok, recordsOf, skipped } from '../rules/result.ts'
import {
  type Check,
  type CheckContext,
  isBlockReply,
  NOT_RUNNING,
  REMOVE_BLOCK,
  type SmtpProbe,
  type SmtpReply,
  withProbe,
} from './context.ts'
import { type Facts, greetedName } from './facts.ts'

type Store = NonNullable<CheckContext['store']>

/** Deliver a mail to postmaster of each domain the way others do, find it in the store and remove it. */
export function deliveryChecks(context: CheckContext, facts: Facts): Check[] {
  // Once for all domains.
  let cleaning: Promise<void> | undefined
  return context.domains.map((domain) => ({
    name: 'delivery',
    subject: domain,
    async run(signal) {
      const { store } = context
      if (!(await facts.isRunning())) return skipped(NOT_RUNNING)
      if (!store) return skipped('see store and postgres')
      cleaning ??= removeOldTestMails(store, context.now())
      await cleaning
      return await checkDelivery({ ...context, store }, facts, { domain, signal })
    },
  }))
}

async function checkDelivery(
  context: CheckContext & { store: Store },
  facts: Facts,
  { domain, signal }: { domain: string; signal: AbortSignal },
): Promise<CheckResult> {
  const host = context.settings.smtp.hostname
  const exchanges = recordsOf(await facts.mx(domain))
  if (!exchanges.some(({ exchange }) => sameName(exchange, host))) return skipped('see mx')
  const open = (await facts.publicSmtp()).find((one) => 'greeting' in one)
  if (!open || !sameName(greetedName(open.greeting), host)) return skipped('see smtp-public')
  const subject = `${SUBJECT}${context.uniqueId()}`
  const raw = testMail(domain, subject, context.now())
  const probe = await context.connectSmtp(open.address, context.publicPorts.smtp, signal)
  const { reply, isSent } = await withProbe(probe, () => deliver(probe, { host, domain, raw }))
  const isRefused = reply.code >= 400
  const attempts = reply.code === 0 ? ATTEMPTS_WITHOUT_REPLY : 1
  const isFound = isSent && !isRefused && (await removeTestMail(context.store, subject, attempts))
  if (isRefused || reply.code === 0) {
    return failure(`postmaster@${domain}: ${reply.text}`, deliveryFix(reply, domain))
  }
  if (!isFound) {
    return failure(
      `${open.address} accepted a mail, but it is not in this store`,
      `Another installation answers at ${open.address}: run this command there, or correct the address of ${host}`,
    )
  }
  return ok(`a message to postmaster@${domain} arrived and was deleted again`)
}

function deliveryFix({ code, text }: SmtpReply, domain: string): string {
  if (isBlockReply(text)) return REMOVE_BLOCK
  if (/\b4\.2\.2\b/.test(text)) {
    return 'The mailbox of the operator is full. Read it (mayfly inbox --operator --no-wait), then empty it: mayfly inbox --operator --delete --all'
  }
  if (/\b5\.(?:1\.[12]|7\.1)\b/.test(text)) return `Add the domain: mayfly domain add ${domain}`
  return code >= 500
    ? 'The log of the service says why the message was rejected'
    : 'The service cannot store mail now: see /readyz and its log'
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
  probe: SmtpProbe,
  { host, domain, raw }: { host: string; domain: string; raw: string },
): Promise<{ reply: SmtpReply; isSent: boolean }> {
  const address = `postmaster@${domain}`
  const hello = await probe.command(`EHLO ${host}`)
  if (/^250[ -]STARTTLS\s*$/im.test(hello.text)) {
    await probe.startTls(host)
    await probe.command(`EHLO ${host}`)
  }
  for (const line of [`MAIL FROM:<${address}>`, `RCPT TO:<${address}>`, 'DATA']) {
    const reply = await probe.command(line)
    if (reply.code >= 400 || reply.code === 0) return { reply, isSent: false }
  }
  return { reply: await probe.command(`${raw}.`), isSent: true }
}

// Without a reply, the server may still store the mail.
const ATTEMPTS_WITHOUT_REPLY = 5
const RETRY_MS = 1_000
const NEWEST = { sinceId: 0, limit: 500 }

/** False if it is not in the store, even after some seconds. */
async function removeTestMail(store: Store, subject: string, attempts: number): Promise<boolean> {
  for (let left = attempts; ; left -= 1) {
    const stored = await store.listMessages(OPERATOR, NEWEST)
    const mail = stored.find((message) => message.subject === subject)
    if (mail) await store.deleteMessages(OPERATOR, [mail.id])
    if (mail || left <= 1) return mail !== undefined
    await pause(RETRY_MS)
  }
}

// Longer than any check takes, also on another node.
const OLD_MS = 600_000
const ALL = { sinceId: 0, limit: 10_000 }
const MAX_TEST_MAIL = 1_000

// The whole mail: whoever sends a copy loses nothing but the copy, and no other mail is ever deleted.
const TEST_MAIL = new RegExp(
  `^From: Mayfly <(postmaster@[\\w.-]+)>\\r\\nTo: <\\1>\\r\\nSubject: ${SUBJECT}[\\w-]{36}\\r\\nDate: [\\w,:+ ]{31}\\r\\n\\r\\n${RegExp.escape(TEXT)}\\r\\n$`,
)

/** Of earlier runs: a check that was stopped, or a server that stored the mail late. */
async function removeOldTestMails(store: Store, now: Date): Promise<void> {
  for (const { id, rawId, subject, size, receivedAt } of await store.listMessages(OPERATOR, ALL)) {
    const isOld = now.getTime() - receivedAt.getTime() > OLD_MS
    if (!isOld || !subject.startsWith(SUBJECT) || size > MAX_TEST_MAIL) continue
    const raw = await store.readRaw(rawId)
    if (raw && TEST_MAIL.test(Buffer.from(raw.bytes).toString('latin1')))
      await store.deleteMessages(OPERATOR, [id])
  }
}
