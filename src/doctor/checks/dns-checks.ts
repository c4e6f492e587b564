import { isIP } from 'node:net'
import { hasErrorCode, toError } from '../../base/problem.ts'
import { listedName } from '../rules/dns-records.ts'
import {
  evaluateAddresses,
  evaluateListing,
  evaluateMx,
  evaluatePtr,
  sameName,
} from '../rules/dns-rules.ts'
import { failure, type Lookup, recordsOf, skipped } from '../rules/result.ts'
import {
  dmarcOf,
  evaluateDmarc,
  evaluateSpf,
  isLocal,
  mailServer,
  type Sending,
  senderDomain,
} from '../rules/sender-rules.ts'
import {
  evaluateMtaSts,
  evaluateTlsReporting,
  type FetchedPolicy,
  hasMtaSts,
  mtaStsUrl,
} from '../rules/tls-rules.ts'
import { type Check, type CheckContext, TlsError } from './context.ts'
import type { Facts } from './facts.ts'

/** Checks of the host name, and of each domain. */
export function dnsChecks(context: CheckContext, facts: Facts): Check[] {
  const { domains, settings } = context
  const sender = senderDomain(settings.mailOut)
  const others = sender === undefined || domains.includes(sender) ? [] : [sender]
  return [
    ...hostChecks(context, facts),
    ...domains.flatMap((domain) => domainChecks(context, facts, domain)),
    ...others.flatMap((domain) => senderChecks(context, facts, domain)),
  ]
}

function hostChecks(context: CheckContext, facts: Facts): Check[] {
  const { settings, dns, ownAddresses: own, isPrivateIp: isPrivate } = context
  const host = settings.smtp.hostname
  return [
    {
      name: 'address',
      async run() {
        if (!host.includes('.')) {
          return failure(
            `MAYFLY_SMTP_HOSTNAME is ${host}, which is not a public name`,
            'Set MAYFLY_SMTP_HOSTNAME to the target of your MX record, such as mx.example.org',
          )
        }
        const [a, aaaa, cname] = await Promise.all([
          facts.a(host),
          facts.aaaa(host),
          dns.cname(host),
        ])
        return evaluateAddresses(host, { a, aaaa, cname }, { own, isPrivate })
      },
    },
    {
      name: 'ptr',
      async run() {
        const addresses = (await facts.addresses(host)).filter((ip) => !isPrivate(ip))
        if (addresses.length === 0) return skipped(`no public address of ${host}`)
        const names = await Promise.all(
          addresses.map(async (ip) => [ip, await dns.ptr(ip)] as const),
        )
        return evaluatePtr(host, new Map(names))
      },
    },
  ]
}

function domainChecks(context: CheckContext, facts: Facts, domain: string): Check[] {
  const { settings, httpGet, publicPorts } = context
  const host = settings.smtp.hostname
  return [
    {
      name: 'mx',
      subject: domain,
      run: async () => evaluateMx(domain, host, await facts.mx(domain)),
    },
    ...senderChecks(context, facts, domain),
    {
      name: 'mta-sts',
      subject: domain,
      async run(signal) {
        const txt = await facts.txt(`_mta-sts.${domain}`)
        const url = mtaStsUrl(domain).replace('/.well', `:${publicPorts.https}/.well`)
        const policy = hasMtaSts(txt)
          ? await httpGet(url, { signal }).catch(policyError)
          : undefined
        const mx = recordsOf(await facts.mx(domain))
        const ours = mx.find(({ exchange }) => sameName(exchange, host))
        const backups = mx.filter(({ priority }) => ours && priority > ours.priority)
        return evaluateMtaSts(domain, txt, {
          host,
          backups: backups.map(({ exchange }) => exchange),
          setting: settings.http.mtaSts,
          policy,
          now: context.now(),
        })
      },
    },
    {
      name: 'tls-rpt',
      subject: domain,
      run: async () =>
        evaluateTlsReporting(
          domain,
          await facts.txt(`_smtp._tls.${domain}`),
          `postmaster@${domain}`,
        ),
    },
  ]
}

function policyError(error: unknown): FetchedPolicy {
  const isCertain = error instanceof TlsError || hasErrorCode(error, 'ENOTFOUND')
  return { error: toError(error).message, isReachability: !isCertain }
}

/** SPF and DMARC: what others may send in the name of the domain. */
function senderChecks(context: CheckContext, facts: Facts, domain: string): Check[] {
  const sends = senderDomain(context.settings.mailOut) === domain
  return [
    {
      name: 'spf',
      subject: domain,
      async run() {
        const [txt, sending] = await Promise.all([
          facts.txt(domain),
          sends ? findSending(context, facts, domain) : undefined,
        ])
        return evaluateSpf(domain, txt, sending)
      },
    },
    {
      name: 'dmarc',
      subject: domain,
      async run() {
        const txt = await facts.txt(`_dmarc.${domain}`)
        const isDecided = 'error' in txt || dmarcOf(txt).length > 0
        const names = isDecided ? [] : parentsOf(domain)
        const parents = await Promise.all(names.map((parent) => facts.txt(`_dmarc.${parent}`)))
        return evaluateDmarc(domain, txt, { parents, sending: sends })
      },
    },
  ]
}

async function findSending(
  { settings, ownAddresses }: CheckContext,
  facts: Facts,
  domain: string,
): Promise<Sending> {
  const host = settings.smtp.hostname
  const server = mailServer(settings.mailOut.url)
  const own = isLocal(server) ? ownAddresses : []
  const [found, a, mx] = await Promise.all([
    addressesOf(facts, [isLocal(server) ? host : server]),
    addressesOf(facts, [domain]),
    mxAddresses(facts, domain),
  ])
  return { server, host, addresses: found && [...own, ...found], a, mx }
}

// RFC 7208 4.6.4: with more MX records than this, `mx` is an error.
const MAX_MX = 10

async function mxAddresses(facts: Facts, domain: string): Promise<string[] | undefined> {
  const mx = await facts.mx(domain)
  if ('error' in mx) return undefined
  // A null MX is `.` or empty.
  const names = mx.records.map(({ exchange }) => exchange).filter((name) => name.length > 1)
  return await addressesOf(facts, names.slice(0, MAX_MX))
}

/** Undefined if DNS did not answer. */
async function addressesOf(facts: Facts, names: readonly string[]): Promise<string[] | undefined> {
  const lookups = await Promise.all(
    names.flatMap((name): (Lookup<string> | Promise<Lookup<string>>)[] =>
      isIP(name) === 0 ? [facts.a(name), facts.aaaa(name)] : [{ records: [name] }],
    ),
  )
  return lookups.some((lookup) => 'error' in lookup) ? undefined : lookups.flatMap(recordsOf)
}

/** `a.b.example.org`: b.example.org, example.org */
function parentsOf(domain: string): string[] {
  const labels = domain.split('.')
  return labels.slice(1, -1).map((_, index) => labels.slice(index + 1).join('.'))
}

const IP_LISTS = ['zen.spamhaus.org', 'bl.spamcop.net', 'b.barracudacentral.org']
const DOMAIN_LISTS = ['dbl.spamhaus.org', 'multi.surbl.org']

/** Asks others about our addresses and domains, so only on request. */
export function listingChecks(context: CheckContext, facts: Facts): Check[] {
  const { dns, domains, settings } = context
  const ask = async (names: readonly (readonly [list: string, name: string])[]) =>
    new Map(
      await Promise.all(names.map(async ([list, name]) => [list, await dns.a(name)] as const)),
    )
  return [
    {
      name: 'listings',
      async run() {
        const [ip] = (await facts.addresses(settings.smtp.hostname)).filter(
          (address) => !context.isPrivateIp(address),
        )
        if (ip === undefined) return skipped('no public address')
        return evaluateListing(
          ip,
          await ask(IP_LISTS.map((list) => [list, listedName(ip, list)] as const)),
        )
      },
    },
    ...domains.map((domain) => ({
      name: 'listings',
      subject: domain,
      run: async () =>
        evaluateListing(
          domain,
          await ask(DOMAIN_LISTS.map((list) => [list, `${domain}.${list}`] as const)),
        ),
    })),
  ]
}
