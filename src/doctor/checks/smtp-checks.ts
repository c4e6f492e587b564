import { toError } from '../../base/problem.ts'
import { sameName } from '../rules/dns-rules.ts'
import { type CheckResult, failure, ok, skipped, warning } from '../rules/result.ts'
import { evaluateCertificate, evaluateTlsa } from '../rules/tls-rules.ts'
import {
  type Check,
  type CheckContext,
  isBlockReply,
  NOT_RUNNING,
  REMOVE_BLOCK,
  type SmtpProbe,
  withProbe,
} from './context.ts'
import { deliveryChecks } from './delivery-check.ts'
import { type Facts, greetedName } from './facts.ts'

/** Checks of the SMTP server: on its own port, and as others reach it. */
export function smtpChecks(context: CheckContext, facts: Facts): Check[] {
  const { settings, now } = context
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
          const certificate = await facts.certificate()
          const isPinned = evaluateTlsa(host, await facts.tlsa(), certificate).status === 'ok'
          return evaluateCertificate(host, certificate, now(), { isEnforced, isPinned })
        } catch (error) {
          const { message } = toError(error)
          if (isBlockReply(message)) return skipped('see smtp')
          return failure(
            `STARTTLS fails: ${message}`,
            'Check the files named by MAYFLY_SMTP_TLS_CERT and MAYFLY_SMTP_TLS_KEY, and the log of the service; a firewall that inspects SMTP must not remove STARTTLS',
          )
        }
      },
    },
    {
      name: 'tlsa',
      async run() {
        const tlsa = await facts.tlsa()
        if ('error' in tlsa) {
          const isDown = 'error' in (await facts.a(host))
          return isDown ? skipped('see address') : evaluateTlsa(host, tlsa, { chain: [] })
        }
        if (tlsa.records.length === 0) return skipped('no TLSA record; optional, for DANE')
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
    ...deliveryChecks(context, facts),
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
  if (isBlockReply(local.greeting)) {
    return failure(`the server on port ${port} says "${local.greeting}"`, REMOVE_BLOCK)
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
  if (other && isBlockReply(other.greeting)) {
    const local = await facts.localSmtp()
    if ('greeting' in local && isBlockReply(local.greeting)) return skipped('see smtp')
    return failure(`${other.address} port ${port} says "${other.greeting}"`, REMOVE_BLOCK)
  }
  if (other) {
    return failure(
      `${other.address} port ${port} says "${other.greeting}", not 220 ${host}`,
      ['Stop the other mail server', ...redirection(context, other.address)].join(', or '),
    )
  }
  const closed = found.filter((one) => 'error' in one)
  if (closed.length > 0) {
    const seen = closed.map(({ address, error }) => `${address} port ${port}: ${error}`)
    const allow = `open port ${port} in the firewall and at the hosting provider`
    const steps = [allow, ...redirection(context, closed[0]?.address ?? '')].join(', and ')
    return warning(
      `${seen.join('; ')}; many networks cannot reach their own public address`,
      `Send a message from elsewhere: swaks --server ${host} --to postmaster@${context.domains[0] ?? host}, then here: mayfly inbox --operator. If it does not arrive, ${steps}`,
    )
  }
  return ok(found.map(({ address }) => `${address} port ${port}`).join(', '))
}

/** How to redirect the public port to ours, unless it is the same. */
function redirection({ settings, publicPorts }: CheckContext, address: string): string[] {
  const [from, to] = [publicPorts.smtp, settings.smtp.port]
  if (from === to) return []
  const family = address.includes(':') ? 'ip6' : 'ip'
  return [
    `redirect port ${from} to ${to}: nft add rule ${family} mayfly in tcp dport ${from} redirect to :${to} (docs/install.md)`,
  ]
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
    const { code, text: reply } = await probe.command(`RCPT TO:<${recipient}>`)
    if (code >= 200 && code < 300) {
      return failure(
        `RCPT TO:<${recipient}> is accepted: others can send mail through this server`,
        'The server in front of Mayfly relays mail: make it accept only your domains (Postfix: relay_domains), or let senders reach Mayfly directly',
      )
    }
    if (code < 500) return skipped(`RCPT TO:<${recipient}>: ${reply}`)
  }
  return ok('mail for other domains is rejected')
}
