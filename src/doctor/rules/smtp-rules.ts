import { isIP } from 'node:net'
import { type CheckResult, failure, ok, skipped, warning } from '../../base/check-result.ts'
import { isLoopback } from '../../base/ip.ts'
import { addressRecord } from './dns-records.ts'
import { sameName } from './dns-rules.ts'

/** What greets on an address, or the error of the connection. */
export type Greeting = { address: string } & ({ greeting: string } | { error: string })

/** The host name after the code of a greeting. */
export function greetedName(greeting: string): string {
  return /^220[ -](\S+)/.exec(greeting)?.[1] ?? ''
}

export function greetsAs(host: string, one: Greeting): boolean {
  return 'greeting' in one && sameName(greetedName(one.greeting), host)
}

/** Whether a reply of Mayfly says that its block list is the reason. */
export const isBlockReply = (text: string) =>
  /blocked by the operator|blocked, send QUIT/.test(text)
export const REMOVE_BLOCK =
  'Remove the entry of the block list that matches this machine or the domain: mayfly block list'

const OTHER_SETTINGS =
  'Restart the service, which has different settings from this command; if another mail server uses the port, stop it or set MAYFLY_SMTP_PORT'

interface SmtpFacts {
  host: string
  /** Where the service listens. */
  port: number
  local: Greeting
}

/** The server on its own port. */
export function evaluateSmtp({ host, port, local }: SmtpFacts): CheckResult {
  const start = 'Start the service: systemctl start mayfly (or: mayfly serve)'
  if ('error' in local) return failure(`nothing answers on port ${port} (${local.error})`, start)
  const seen = `the server on port ${port} says "${local.greeting}"`
  if (greetsAs(host, local)) return ok(seen)
  return failure(seen, isBlockReply(local.greeting) ? REMOVE_BLOCK : OTHER_SETTINGS)
}

interface PublicSmtpFacts extends SmtpFacts {
  /** The port where others deliver. */
  publicPort: number
  /** Each public address of the host. */
  found: readonly Greeting[]
  /** One to send a test to. */
  domain: string
  /** The address that the service listens on. */
  listens: string
  /** Addresses of this machine that others could reach; behind NAT none. */
  own: readonly string[]
}

/** The server as others reach it. */
export function evaluatePublicSmtp(facts: PublicSmtpFacts): CheckResult {
  const { host, port, local, publicPort, found, domain, own } = facts
  if (found.length === 0) return skipped(`${host} has no public address`)
  const wrong = found.filter((one) => !greetsAs(host, one))
  const [first] = wrong
  const textOf = (one: Greeting) =>
    `${one.address} port ${publicPort}: ${'error' in one ? one.error : one.greeting}`
  if (!first) return ok(found.map(textOf).join('; '))
  const family = first.address.includes(':') ? 'ip6' : 'ip'
  const rule = `redirect port ${publicPort} to ${port}: nft add rule ${family} mayfly in tcp dport ${publicPort} redirect to :${port} (docs/install.md)`
  const redirect = publicPort === port ? [] : [rule]
  const other = wrong.find((one) => 'greeting' in one)
  if (other && isBlockReply(other.greeting)) {
    const isLocal = 'greeting' in local && isBlockReply(local.greeting)
    return isLocal ? skipped('see smtp') : failure(textOf(other), REMOVE_BLOCK)
  }
  if (other) return failure(textOf(other), otherServerFix(other.address, { host, own, redirect }))
  const hidden = wrong.find((one) => !isReachedBy(facts.listens, one.address))
  if (hidden) {
    const six = hidden.address.includes(':') ? ', or remove the AAAA record' : ''
    const fix = `Set MAYFLY_HOST=:: and restart the service${six}. If it is still closed, open port ${publicPort} in the firewall`
    return warning(`${textOf(hidden)}; the service listens on ${facts.listens} only`, fix)
  }
  const open = `open port ${publicPort} in the firewall and at the hosting provider`
  return warning(
    `${wrong.map(textOf).join('; ')}; many networks cannot reach their own public address`,
    `Send a message from elsewhere: swaks --server ${host} --to postmaster@${domain}, then here: mayfly inbox --operator. If it does not arrive, ${[open, ...redirect].join(', and ')}`,
  )
}

/** Whether what listens on `listens` gets connections to this address, if they come to this machine at all. */
function isReachedBy(listens: string, address: string): boolean {
  if (listens === '::' || listens === '' || isIP(listens) === 0) return listens !== 'localhost'
  const isSameFamily = listens.includes(':') === address.includes(':')
  return isSameFamily && (!isLoopback(listens) || isLoopback(address))
}

/** Another mail server answers: on this machine, or at an address that is not its. */
function otherServerFix(
  address: string,
  { host, own, redirect }: { host: string; own: readonly string[]; redirect: readonly string[] },
): string {
  const stop = ['Stop the other mail server on this machine', ...redirect].join(', or ')
  const correct = `correct the address of ${host} in DNS${own.map((ip) => `\n${addressRecord(host, ip)}`).join('')}`
  if (own.includes(address)) return stop
  return `If ${address} is not this machine, ${correct}\nOtherwise: ${stop}`
}

/** A mail to the postmaster was refused. */
export function deliveryFix(
  { code, text }: { code: number; text: string },
  domain: string,
): string {
  if (isBlockReply(text)) return REMOVE_BLOCK
  if (/\b4\.2\.2\b/.test(text)) {
    return 'The mailbox of the operator is full. Read it (mayfly inbox --operator --no-wait), then empty it: mayfly inbox --operator --delete --all'
  }
  // A shell would expand the asterisk of a wildcard.
  const name = domain.startsWith('*') ? `'${domain}'` : domain
  if (/\b5\.(?:1\.[12]|7\.1)\b/.test(text)) return `Add the domain: mayfly domain add ${name}`
  return code >= 500
    ? 'The log of the service says why the message was rejected'
    : 'The service cannot store mail now: see /readyz and its log'
}
