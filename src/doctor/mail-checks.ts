import { sampleHost, withoutWildcard } from '../base/address.ts'
import { isKeyExposed } from '../base/certificate-files.ts'
import { failure, ok, skipped, warning } from '../base/check-result.ts'
import { checkDelivery, checkRelay } from './delivery.ts'
import type { CheckContext, Facts } from './facts.ts'
import { followSpf } from './probes/spf.ts'
import { listedName, permissionName } from './rules/dns-records.ts'
import {
  evaluateAddresses,
  evaluateListing,
  evaluateMx,
  evaluatePtr,
  isUnregistered,
  sameName,
} from './rules/dns-rules.ts'
import { NOT_RUNNING } from './rules/installation-rules.ts'
import { recordsOf } from './rules/result.ts'
import {
  evaluateDmarc,
  evaluateSpf,
  mailOutFix,
  reportReceivers,
  senderOf,
} from './rules/sender-rules.ts'
import { evaluatePublicSmtp, evaluateSmtp, isBlockReply } from './rules/smtp-rules.ts'
import {
  evaluateCertificate,
  evaluateMtaSts,
  evaluateTlsa,
  isEnforcedPolicy,
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
    async run({ host, settings, localSmtp, certificateFault, dataDirectory }) {
      const local = await localSmtp()
      // What keeps the service from starting is reported once.
      if ('error' in local && certificateFault()) return skipped(`${NOT_RUNNING}: see certificate`)
      const { fault, exists } = await dataDirectory()
      if ('error' in local && fault && exists) return skipped(`${NOT_RUNNING}: see data`)
      return evaluateSmtp({ host, port: settings.smtp.port, local })
    },
  },
  {
    name: 'smtp-public',
    needsService: true,
    async run({ host, settings, localSmtp, publicSmtp, publicPorts, domains, ownAddresses: own }) {
      const [local, found] = await Promise.all([localSmtp(), publicSmtp()])
      const ports = { port: settings.smtp.port, publicPort: publicPorts.smtp }
      return evaluatePublicSmtp({
        host,
        ...ports,
        local,
        found,
        domain: sampleHost(domains[0] ?? host),
        listens: settings.host,
        own,
      })
    },
  },
  {
    name: 'certificate',
    fix: 'Check the files named by MAYFLY_SMTP_TLS_CERT and MAYFLY_SMTP_TLS_KEY, and the log of the service; a firewall that inspects SMTP must not remove STARTTLS',
    async run(facts) {
      const { host, settings, localSmtp, certificate, dns, now, domains } = facts
      // A running service keeps the files that it has read; the next start would fail.
      const fault = facts.certificateFault()
      if (fault) return failure(fault.seen, fault.fix)
      const { tlsKey } = settings.smtp
      if (tlsKey !== '' && isKeyExposed(tlsKey))
        return warning(`all users can read the private key ${tlsKey}`, `chmod o= ${tlsKey}`)
      if (!(await facts.isRunning())) return skipped(NOT_RUNNING)
      const local = await localSmtp()
      if ('greeting' in local && isBlockReply(local.greeting)) return skipped('see smtp')
      const served = await certificate()
      const tlsa = await dns.tlsa(`_25._tcp.${host}`)
      const isPinned = evaluateTlsa(host, tlsa, served).status === 'ok'
      const policies = await Promise.all(domains.filter(isNamed).map(facts.mtaStsPolicy))
      const isEnforced = settings.http.mtaSts === 'enforce' || policies.some(isEnforcedPolicy)
      const isObtained = settings.acme.on && settings.smtp.tlsCert === ''
      return evaluateCertificate(host, served, now(), { isEnforced, isPinned, isObtained })
    },
  },
  {
    name: 'tlsa',
    async run({ host, dns, certificate }) {
      const [tlsa, a] = await Promise.all([dns.tlsa(`_25._tcp.${host}`), dns.a(host)])
      if ('error' in tlsa && 'error' in a) return skipped('see address')
      const isCompared = recordsOf(tlsa).length > 0
      const served = isCompared ? await certificate().catch(() => undefined) : { chain: [] }
      if (!served) return skipped('no certificate to compare with')
      const isSigned = isCompared ? await dns.isTlsaSigned(`_25._tcp.${host}`) : undefined
      return evaluateTlsa(host, tlsa, served, isSigned)
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
    async run({ host, dns }, domain) {
      const name = sampleHost(domain)
      const [mx, cname] = await Promise.all([dns.mx(name), dns.cname(name)])
      return evaluateMx(domain, host, mx, recordsOf(cname)[0])
    },
  },
  {
    name: 'spf',
    subjects: ofSenders,
    async run({ host, settings: { mailOut }, dns, addressesOf, ownAddresses }, domain) {
      const name = sampleHost(domain)
      const txt = await dns.txt(name)
      if (isUnregistered(domain, txt)) return skipped('see mx')
      const sender = senderOf(mailOut, host)
      const tree = await followSpf(name, dns.txt)
      if (domain !== sender?.domain) return evaluateSpf(domain, txt, undefined, tree)
      const own = sender.server === host ? ownAddresses : []
      const addresses = [...own, ...(await addressesOf(sender.server))]
      return evaluateSpf(domain, txt, { ...sender, addresses }, tree)
    },
  },
  {
    name: 'dmarc',
    subjects: (facts) => ofSenders(facts).filter(isNamed),
    async run({ host, settings, dns }, domain) {
      const labels = domain.split('.')
      // `a.b.example.org`: also b.example.org and example.org
      const names = labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'))
      const [found, ...parents] = await Promise.all(names.map((name) => dns.txt(`_dmarc.${name}`)))
      const txt = found ?? { records: [] }
      if (isUnregistered(domain, await dns.txt(domain))) return skipped('see mx')
      const sends = senderOf(settings.mailOut, host)?.domain === domain
      const receivers = reportReceivers(domain, txt)
      const permissions = await lookUp(receivers, (one) => dns.txt(permissionName(domain, one)))
      return evaluateDmarc(domain, txt, { parents, sends, permissions })
    },
  },
  {
    name: 'mta-sts',
    subjects: ({ domains }) => domains.filter(isNamed),
    async run({ host, settings, servesTls, dns, mtaStsPolicy, now }, domain) {
      const txt = await dns.txt(`_mta-sts.${domain}`)
      const policy = await mtaStsPolicy(domain)
      const mx = recordsOf(await dns.mx(domain))
      const ours = mx.find(({ exchange }) => sameName(exchange, host))
      const backups = mx
        .filter(({ priority }) => ours && priority > ours.priority)
        .map(({ exchange }) => exchange)
      const setting = settings.http.mtaSts
      const facts = { host, backups, setting, policy, servesTls, now: now() }
      return evaluateMtaSts(domain, txt, facts)
    },
  },
  {
    name: 'mail-out',
    async run({ settings: { mailOut }, verifyMailOut }) {
      if (mailOut.url === '') return skipped('no receipts are sent')
      const fault = await verifyMailOut(mailOut.url)
      return fault === undefined
        ? ok('the server for receipts accepts us')
        : failure(`receipts cannot be sent: ${fault}`, mailOutFix(fault))
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
