import { sampleHost, withoutWildcard } from '../base/address.ts'
import { skipped } from '../base/check-result.ts'
import { checkDelivery, checkRelay } from './delivery.ts'
import type { CheckContext, Facts } from './facts.ts'
import { listedName } from './rules/dns-records.ts'
import {
  evaluateAddresses,
  evaluateListing,
  evaluateMx,
  evaluatePtr,
  sameName,
} from './rules/dns-rules.ts'
import { recordsOf } from './rules/result.ts'
import { evaluateDmarc, evaluateSpf, senderOf } from './rules/sender-rules.ts'
import { evaluatePublicSmtp, evaluateSmtp, isBlockReply } from './rules/smtp-rules.ts'
import {
  evaluateCertificate,
  evaluateMtaSts,
  evaluateTlsa,
  isMtaSts,
  mtaStsUrl,
} from './rules/tls-rules.ts'
import type { CheckEntry } from './run-checks.ts'

const IP_LISTS = ['zen.spamhaus.org', 'bl.spamcop.net', 'b.barracudacentral.org']
const DOMAIN_LISTS = ['dbl.spamhaus.org', 'multi.surbl.org']

const ofDomains = ({ domains }: CheckContext) => domains
/** False for wildcards: senders do not look for policies there. */
const isNamed = (domain: string) => !domain.startsWith('*.')
const ofSenders = ({ domains, settings, host }: Facts) => [
  ...new Set([...domains, senderOf(settings.mailOut, host)?.domain ?? []].flat()),
]

/** Whether mail arrives: the SMTP server, its host name, and the domains. */
export const MAIL_CHECKS: readonly CheckEntry[] = [
  {
    name: 'smtp',
    run: async ({ host, settings, localSmtp }) =>
      evaluateSmtp({ host, port: settings.smtp.port, local: await localSmtp() }),
  },
  {
    name: 'smtp-public',
    needsService: true,
    async run({ host, settings, localSmtp, publicSmtp, publicPorts, domains }) {
      const [local, found] = await Promise.all([localSmtp(), publicSmtp()])
      const ports = { port: settings.smtp.port, publicPort: publicPorts.smtp }
      return evaluatePublicSmtp({
        host,
        ...ports,
        local,
        found,
        domain: sampleHost(domains[0] ?? host),
      })
    },
  },
  {
    name: 'certificate',
    needsService: true,
    fix: 'Check the files named by MAYFLY_SMTP_TLS_CERT and MAYFLY_SMTP_TLS_KEY, and the log of the service; a firewall that inspects SMTP must not remove STARTTLS',
    async run({ host, settings, localSmtp, certificate, dns, now }) {
      const local = await localSmtp()
      if ('greeting' in local && isBlockReply(local.greeting)) return skipped('see smtp')
      const served = await certificate()
      const tlsa = await dns.tlsa(`_25._tcp.${host}`)
      const isPinned = evaluateTlsa(host, tlsa, served).status === 'ok'
      const isEnforced = settings.http.mtaSts === 'enforce'
      return evaluateCertificate(host, served, now(), { isEnforced, isPinned })
    },
  },
  {
    name: 'tlsa',
    async run({ host, dns, certificate }) {
      const [tlsa, a] = await Promise.all([dns.tlsa(`_25._tcp.${host}`), dns.a(host)])
      if ('error' in tlsa && 'error' in a) return skipped('see address')
      const isCompared = recordsOf(tlsa).length > 0
      const served = isCompared ? await certificate().catch(() => undefined) : { chain: [] }
      return served ? evaluateTlsa(host, tlsa, served) : skipped('no certificate to compare with')
    },
  },
  { name: 'relay', needsService: true, run: (facts, _, signal) => checkRelay(facts, signal) },
  { name: 'delivery', subjects: ofDomains, needsService: true, run: checkDelivery },
  {
    name: 'address',
    async run({ host, dns, ownAddresses: own, isPrivateIp: isPrivate }) {
      const [a, aaaa, cname] = await Promise.all([dns.a(host), dns.aaaa(host), dns.cname(host)])
      return evaluateAddresses(host, { a, aaaa, cname }, { own, isPrivate })
    },
  },
  {
    name: 'ptr',
    async run({ host, dns, publicAddresses }) {
      const addresses = await publicAddresses()
      if (addresses.length === 0) return skipped(`no public address of ${host}`)
      return evaluatePtr(host, await lookUp(addresses, dns.ptr))
    },
  },
  {
    name: 'mx',
    subjects: ofDomains,
    run: async ({ host, dns }, domain) =>
      evaluateMx(domain, host, await dns.mx(sampleHost(domain))),
  },
  {
    name: 'spf',
    subjects: ofSenders,
    async run({ host, settings: { mailOut }, dns, addressesOf, ownAddresses }, domain) {
      const txt = await dns.txt(sampleHost(domain))
      const sender = senderOf(mailOut, host)
      if (domain !== sender?.domain) return evaluateSpf(domain, txt, undefined)
      const own = sender.server === host ? ownAddresses : []
      const addresses = [...own, ...(await addressesOf(sender.server))]
      return evaluateSpf(domain, txt, { ...sender, addresses })
    },
  },
  {
    name: 'dmarc',
    subjects: (facts) => ofSenders(facts).filter(isNamed),
    async run({ host, settings, dns }, domain) {
      const labels = domain.split('.')
      // `a.b.example.org`: also b.example.org and example.org
      const names = labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'))
      const [txt, ...parents] = await Promise.all(names.map((name) => dns.txt(`_dmarc.${name}`)))
      const sends = senderOf(settings.mailOut, host)?.domain === domain
      return evaluateDmarc(domain, txt ?? { records: [] }, { parents, sends })
    },
  },
  {
    name: 'mta-sts',
    subjects: ({ domains }) => domains.filter(isNamed),
    async run({ host, settings, dns, httpGet, publicPorts, now }, domain, signal) {
      const txt = await dns.txt(`_mta-sts.${domain}`)
      const url = mtaStsUrl(domain).replace('/.well', `:${publicPorts.https}/.well`)
      const isUsed = recordsOf(txt).some(isMtaSts)
      const policy = isUsed ? await httpGet(url, { signal }) : undefined
      const mx = recordsOf(await dns.mx(domain))
      const ours = mx.find(({ exchange }) => sameName(exchange, host))
      const backups = mx
        .filter(({ priority }) => ours && priority > ours.priority)
        .map(({ exchange }) => exchange)
      const facts = { host, backups, setting: settings.http.mtaSts, policy, now: now() }
      return evaluateMtaSts(domain, txt, facts)
    },
  },
  {
    name: 'listings',
    onRequest: true,
    async run({ dns, publicAddresses }) {
      const [ip] = await publicAddresses()
      if (ip === undefined) return skipped('no public address')
      return evaluateListing(ip, await lookUp(IP_LISTS, (list) => dns.a(listedName(ip, list))))
    },
  },
  {
    name: 'listings',
    subjects: ofDomains,
    onRequest: true,
    run: async ({ dns }, domain) =>
      evaluateListing(
        domain,
        await lookUp(DOMAIN_LISTS, (list) => dns.a(`${withoutWildcard(domain)}.${list}`)),
      ),
  },
]

async function lookUp<T>(names: readonly string[], find: (name: string) => Promise<T>) {
  return new Map(await Promise.all(names.map(async (name) => [name, await find(name)] as const)))
}
