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
import { type CheckEntry, check } from './run-checks.ts'

const IP_LISTS = ['zen.spamhaus.org', 'bl.spamcop.net', 'b.barracudacentral.org']
const DOMAIN_LISTS = ['dbl.spamhaus.org', 'multi.surbl.org']

const ofDomains = ({ domains }: CheckContext) => domains
/** False for wildcards: senders do not look for policies there. */
const isNamed = (domain: string) => !domain.startsWith('*.')
const ofNamed = ({ domains }: CheckContext) => domains.filter(isNamed)
const ofSenders = ({ domains, settings, host }: Facts) => [
  ...new Set([...domains, senderOf(settings.mailOut, host)?.domain ?? []].flat()),
]

const ofNamedSenders = (facts: Facts) => ofSenders(facts).filter(isNamed)

const CERTIFICATE_FIX =
  'Check the files named by MAYFLY_SMTP_TLS_CERT and MAYFLY_SMTP_TLS_KEY, and the log of the service; a firewall that inspects SMTP must not remove STARTTLS'

/** Whether mail arrives: the SMTP server, its host name, and the domains. */
export const MAIL_CHECKS: readonly CheckEntry[] = [
  check('smtp', async ({ host, settings, localSmtp, certificateFault, dataDirectory }) => {
    const local = await localSmtp()
    // What keeps the service from starting is reported once.
    if ('error' in local && certificateFault()) return skipped(`${NOT_RUNNING}: see certificate`)
    const { fault, exists } = await dataDirectory()
    if ('error' in local && fault && exists) return skipped(`${NOT_RUNNING}: see data`)
    return evaluateSmtp({ host, port: settings.smtp.port, local })
  }),
  check({ name: 'smtp-public', needsService: true }, async (facts) => {
    const { host, settings, publicPorts, domains, ownAddresses: own } = facts
    const [local, found] = await Promise.all([facts.localSmtp(), facts.publicSmtp()])
    const ports = { port: settings.smtp.port, publicPort: publicPorts.smtp }
    const domain = sampleHost(domains[0] ?? host)
    return evaluatePublicSmtp({ ...ports, host, local, found, domain, listens: settings.host, own })
  }),
  check({ name: 'certificate', fix: CERTIFICATE_FIX }, async (facts) => {
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
  }),
  check('tlsa', async ({ host, dns, certificate }) => {
    const [tlsa, a] = await Promise.all([dns.tlsa(`_25._tcp.${host}`), dns.a(host)])
    if ('error' in tlsa && 'error' in a) return skipped('see address')
    const isCompared = recordsOf(tlsa).length > 0
    const served = isCompared ? await certificate().catch(() => undefined) : { chain: [] }
    if (!served) return skipped('no certificate to compare with')
    const isSigned = isCompared ? await dns.isTlsaSigned(`_25._tcp.${host}`) : undefined
    return evaluateTlsa(host, tlsa, served, isSigned)
  }),
  check({ name: 'relay', needsService: true }, (facts, _, signal) => checkRelay(facts, signal)),
  { name: 'delivery', subjects: ofDomains, needsService: true, run: checkDelivery },
  check('address', async ({ host, dns, ownAddresses: own, isPrivateIp: isPrivate }) => {
    const [a, aaaa, cname] = await Promise.all([dns.a(host), dns.aaaa(host), dns.cname(host)])
    return evaluateAddresses(host, { a, aaaa, cname }, { own, isPrivate })
  }),
  check('ptr', async ({ host, dns, publicAddresses }) => {
    const addresses = await publicAddresses()
    if (addresses.length === 0) return skipped(`no public address of ${host}`)
    return evaluatePtr(host, await lookUp(addresses, dns.ptr))
  }),
  check({ name: 'mx', subjects: ofDomains }, async ({ host, dns }, domain) => {
    const name = sampleHost(domain)
    const [mx, cname] = await Promise.all([dns.mx(name), dns.cname(name)])
    return evaluateMx(domain, host, mx, recordsOf(cname)[0])
  }),
  check({ name: 'spf', subjects: ofSenders }, async (facts, domain) => {
    const { host, settings, dns } = facts
    const name = sampleHost(domain)
    const txt = await dns.txt(name)
    if (isUnregistered(domain, txt)) return skipped('see mx')
    const sender = senderOf(settings.mailOut, host)
    const tree = await followSpf(name, dns.txt)
    if (domain !== sender?.domain) return evaluateSpf(domain, txt, undefined, tree)
    const own = sender.server === host ? facts.ownAddresses : []
    const addresses = [...own, ...(await facts.addressesOf(sender.server))]
    return evaluateSpf(domain, txt, { ...sender, addresses }, tree)
  }),
  check({ name: 'dmarc', subjects: ofNamedSenders }, async ({ host, settings, dns }, domain) => {
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
  }),
  check({ name: 'mta-sts', subjects: ofNamed }, async (facts, domain) => {
    const { host, settings, servesTls, dns, now } = facts
    const txt = await dns.txt(`_mta-sts.${domain}`)
    const policy = await facts.mtaStsPolicy(domain)
    const mx = recordsOf(await dns.mx(domain))
    const ours = mx.find(({ exchange }) => sameName(exchange, host))
    const backups = mx.filter(({ priority }) => ours && priority > ours.priority)
    return evaluateMtaSts(domain, txt, {
      ...{ host, policy, servesTls, now: now(), setting: settings.http.mtaSts },
      backups: backups.map(({ exchange }) => exchange),
    })
  }),
  check('mail-out', async ({ settings: { mailOut }, verifyMailOut }) => {
    if (mailOut.url === '') return skipped('no receipts are sent')
    const fault = await verifyMailOut(mailOut.url)
    return fault === undefined
      ? ok('the server for receipts accepts us')
      : failure(`receipts cannot be sent: ${fault}`, mailOutFix(fault))
  }),
  check({ name: 'listings', onRequest: true }, async ({ dns, publicAddresses }) => {
    const [ip] = await publicAddresses()
    if (ip === undefined) return skipped('no public address')
    return evaluateListing(ip, await lookUp(IP_LISTS, (list) => dns.a(listedName(ip, list))))
  }),
  check({ name: 'listings', subjects: ofDomains, onRequest: true }, async ({ dns }, domain) => {
    const name = withoutWildcard(domain)
    return evaluateListing(domain, await lookUp(DOMAIN_LISTS, (list) => dns.a(`${name}.${list}`)))
  }),
]

async function lookUp<T>(names: readonly string[], find: (name: string) => Promise<T>) {
  return new Map(await Promise.all(names.map(async (name) => [name, await find(name)] as const)))
}
