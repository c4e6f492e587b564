import { setTimeout as pause } from 'node:timers/promises'
import { sameName } from '../../core/checks/dns-rules.ts'
import {
  type CheckResult,
  failure,
  ok,
  recordsOf,
  skipped,
  warning,
} from '../../core/checks/result.ts'
import { evaluateCertificate, evaluateTlsa } from '../../core/checks/tls-rules.ts'
import { toError } from '../../core/problem.ts'
import { OPERATOR } from '../../core/session.ts'
import type { Check, CheckContext, SmtpProbe, SmtpReply } from './context.ts'
import { type Facts, greetedName } from './facts.ts'

const NOT_RUNNING = 'the service is not running'

/** Checks of the SMTP server: on its own port, and as others reach it. */
export function smtpChecks(context: CheckContext, facts: Facts): Check[] {
  const { settings, dns, now, domains } = context
  const host = settings.smtp.hostname
  return [
    { name: 'smtp', run: () => checkLocal(context, facts) },
    { name: 'smtp-public', run: () => checkPublic(context, facts) },
    {
      name: 'certificate',
      async run() {
        if (!(await facts.isRunning())) return skipped(NOT_RUNNING)
        try {
          const isEnforced = settings.http.mtaSts === 'enforce'
          return evaluateCertificate(host, await facts.certificate(), now(), { isEnforced })
        } catch (error) {
          return failure(
            `STARTTLS fails: ${toError(error).message}`,
            'Check the files named by MAYFLY_SMTP_TLS_CERT and MAYFLY_SMTP_TLS_KEY, and the log of the service; a firewall that inspects SMTP must not remove STARTTLS',
          )
        }
      },
    },
    {
      name: 'tlsa',
      async run() {
        const tlsa = await dns.tlsa(`_25._tcp.${host}`)
        if (recordsOf(tlsa).length === 0) return skipped('no TLSA record; optional, for DANE')
        const certificate = await facts.certificate().catch(() => undefined)
        if (!certificate) return skipped('no certificate to compare with')
        return evaluateTlsa(host, tlsa, certificate)
      },
    },
    {
      name: 'relay',
      async run(signal) {
        if (!(await facts.isRunning())) return skipped(NOT_RUNNING)
        const { address, port } = await facts.reachable()
        const probe = await context.connectSmtp(address, port, signal)
        return await withProbe(probe, () => checkRelay(context, probe))
      },
    },
    ...domains.map((domain) => ({
      name: 'delivery',
      subject: domain,
      run: (signal: AbortSignal) => checkDelivery(context, facts, { domain, signal }),
    })),
  ]
}

async function checkLocal({ settings }: CheckContext, facts: Facts): Promise<CheckResult> {
  const { port, hostname } = settings.smtp
  const local = await facts.localSmtp()
  if ('error' in local) {
    return failure(
      `nothing answers on port ${port} (${local.error})`,
      'Start the service: systemctl start mayfly (or: mayfly serve)',
    )
  }
  if (!sameName(greetedName(local.greeting), hostname)) {
    return failure(
      `the server on port ${port} says "${local.greeting}", not 220 ${hostname}`,
      'Restart the service, which has different settings from this command; if another mail server uses the port, stop it or set MAYFLY_SMTP_PORT',
    )
  }
  return ok(`port ${port}: ${local.greeting}`)
}

async function checkPublic(context: CheckContext, facts: Facts): Promise<CheckResult> {
  const { settings, publicPorts } = context
  const host = settings.smtp.hostname
  const port = publicPorts.smtp
  if (!(await facts.isRunning())) return skipped(NOT_RUNNING)
  const found = await facts.publicSmtp()
  if (found.length === 0) return skipped(`${host} has no public address`)
  const open = found.filter((one) => 'greeting' in one)
  const other = open.find(({ greeting }) => !sameName(greetedName(greeting), host))
  if (other) {
    return failure(
      `${other.address} port ${port} says "${other.greeting}", not 220 ${host}`,
      `Stop the other mail server, or redirect port ${port} to ${settings.smtp.port}: nft add rule ip mayfly in tcp dport ${port} redirect to :${settings.smtp.port} (docs/install.md)`,
    )
  }
  const closed = found.filter((one) => 'error' in one)
  if (closed.length > 0) {
    const seen = closed.map(({ address, error }) => `${address} port ${port}: ${error}`)
    return warning(
      `${seen.join('; ')}; many networks cannot reach their own public address`,
      `Send a message from elsewhere: swaks --server ${host} --to postmaster@${context.domains[0] ?? host}, then here: mayfly inbox --operator. If it does not arrive, open port ${port} in the firewall and at the hosting provider, and redirect it to ${settings.smtp.port}`,
    )
  }
  return ok(found.map(({ address }) => `${address} port ${port}`).join(', '))
}

const FOREIGN = 'someone@relay-check.invalid'

/** Recipients of other domains, in the notations that mail servers have been tricked with. */
async function checkRelay(
  { settings, domains }: CheckContext,
  probe: SmtpProbe,
): Promise<CheckResult> {
  const own = domains[0] ?? settings.smtp.hostname
  const recipients = [
    FOREIGN,
    `"${FOREIGN}"@${own}`,
    `${FOREIGN.replace('@', '%')}@${own}`,
    `@${own}:${FOREIGN}`,
  ]
  await probe.command(`EHLO ${settings.smtp.hostname}`)
  const { code: mailCode, text } = await probe.command(`MAIL FROM:<postmaster@${own}>`)
  if (mailCode !== 250) return skipped(`MAIL is refused: ${text}`)
  for (const recipient of recipients) {
    const { code } = await probe.command(`RCPT TO:<${recipient}>`)
    if (code >= 200 && code < 300) {
      return failure(
        `RCPT TO:<${recipient}> is accepted: others can send mail through this server`,
        'The server in front of Mayfly relays mail: make it accept only your domains (Postfix: relay_domains), or let senders reach Mayfly directly',
      )
    }
  }
  return ok('mail for other domains is rejected')
}

/** Delivers a mail to postmaster the way others do, finds it in the store and removes it. */
async function checkDelivery(
  context: CheckContext,
  facts: Facts,
  { domain, signal }: { domain: string; signal: AbortSignal },
): Promise<CheckResult> {
  const { settings, store } = context
  const host = settings.smtp.hostname
  if (!(await facts.isRunning()) || !store) return skipped(NOT_RUNNING)
  const exchanges = recordsOf(await facts.mx(domain))
  if (!exchanges.some(({ exchange }) => sameName(exchange, host))) return skipped('see mx')
  const open = (await facts.publicSmtp()).find((one) => 'greeting' in one)
  if (!open || !sameName(greetedName(open.greeting), host)) return skipped('see smtp-public')
  const subject = `Mayfly check ${context.uniqueId()}`
  const probe = await context.connectSmtp(open.address, context.publicPorts.smtp, signal)
  let reply: SmtpReply = { code: 0, text: 'connection closed' }
  let isFound = false
  try {
    reply = await withProbe(probe, () =>
      deliver(probe, { host, domain, subject, now: context.now() }),
    )
  } finally {
    // Without a reply, the server may still store it.
    const attempts = reply.code === 0 ? ATTEMPTS_WITHOUT_REPLY : 1
    isFound = reply.code < 400 && (await removeTestMail(store, subject, attempts))
  }
  if (reply.code >= 400 || reply.code === 0) {
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
  if (text.includes('blocked by the operator')) {
    return 'Remove the entry of the block list that matches this machine or the domain: mayfly block list'
  }
  return code >= 500
    ? `Add the domain: mayfly domain add ${domain}`
    : 'The service cannot store mail now: see /readyz and its log'
}

const ATTEMPTS_WITHOUT_REPLY = 5
const RETRY_MS = 1_000

/** False if it is not in the store, even after some seconds. */
async function removeTestMail(
  store: NonNullable<CheckContext['store']>,
  subject: string,
  attempts: number,
): Promise<boolean> {
  for (let left = attempts; ; left -= 1) {
    const stored = await store.listMessages(OPERATOR, { sinceId: 0, limit: 500 })
    const mail = stored.find((message) => message.subject === subject)
    if (mail) await store.deleteMessages(OPERATOR, [mail.id])
    if (mail || left <= 1) return mail !== undefined
    await pause(RETRY_MS)
  }
}

async function deliver(
  probe: SmtpProbe,
  mail: { host: string; domain: string; subject: string; now: Date },
): Promise<SmtpReply> {
  const { host, domain, subject, now } = mail
  const address = `postmaster@${domain}`
  const hello = await probe.command(`EHLO ${host}`)
  if (/^250[ -]STARTTLS\s*$/im.test(hello.text)) {
    await probe.startTls(host)
    await probe.command(`EHLO ${host}`)
  }
  const lines = [
    `From: Mayfly <${address}>`,
    `To: <${address}>`,
    `Subject: ${subject}`,
    `Date: ${now.toUTCString().replace('GMT', '+0000')}`,
    '',
    'A test by mayfly doctor, which deletes it.',
    '.',
  ]
  for (const line of [`MAIL FROM:<${address}>`, `RCPT TO:<${address}>`, 'DATA']) {
    const reply = await probe.command(line)
    if (reply.code >= 400 || reply.code === 0) return reply
  }
  return await probe.command(lines.join('\r\n'))
}

async function withProbe<T>(probe: SmtpProbe, use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } finally {
    probe.close()
  }
}
