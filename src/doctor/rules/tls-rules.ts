import { hash } from 'node:crypto'
import { type CheckResult, failure, ok, skipped, warning } from '../../base/check-result.ts'
import { mtaStsPolicy } from '../../mail/rules/mta-sts.ts'
import { mtaStsRecord, tlsaRecord } from './dns-records.ts'
import { tagsOf } from './dns-rules.ts'
import type { HttpResponse, Lookup } from './result.ts'

/** The certificate that a server presents. */
export interface ServedCertificate {
  /** DNS names, possibly with a wildcard. */
  names: readonly string[]
  notBefore: Date
  notAfter: Date
  /** Why it is not trusted; empty if a public CA vouches for it. The name is not part of this. */
  untrusted: string
  /** The certificate and its issuers, as far as they were sent. */
  chain: readonly { der: Uint8Array; publicKey: Uint8Array }[]
}

const DAY_MS = 86_400_000
const RENEWAL_DAYS = 14

/** Whole days until a certificate expires if it should have been renewed by now: at the latest two weeks before, or a sixth of a short life. */
export function overdueDays(
  { notBefore, notAfter }: { notBefore: Date; notAfter: Date },
  now: Date,
): number | undefined {
  const lifeMs = notAfter.getTime() - notBefore.getTime()
  const leftMs = notAfter.getTime() - now.getTime()
  const isDue = leftMs < Math.min(RENEWAL_DAYS * DAY_MS, lifeMs / 6)
  return isDue ? Math.floor(leftMs / DAY_MS) : undefined
}

// The directories of certbot are open to root only: with a path there, the service would not start.
const USE_CERTIFICATE =
  'Copy the files for the user of the service by the deploy hook of docs/tls.md, and set MAYFLY_SMTP_TLS_CERT=/etc/mayfly/smtp-cert.pem and MAYFLY_SMTP_TLS_KEY=/etc/mayfly/smtp-key.pem'

/** What is to be done about a certificate that the service obtains (MAYFLY_ACME=on). */
export const SEE_ACME =
  'This service obtains the certificate itself: see acme, and the log of the service'

/**
 * Most servers deliver to a certificate that they cannot verify; if an MTA-STS policy is enforced, they do not. With a TLSA record (`isPinned`), no
 * CA is needed.
 */
export function evaluateCertificate(
  host: string,
  { names, notBefore, notAfter, untrusted, chain }: ServedCertificate,
  now: Date,
  { isEnforced = false, isPinned = false, isObtained = false } = {},
): CheckResult {
  const unverifiable = isEnforced ? failure : warning
  const seen = `for ${names.join(', ') || 'no name'}, valid until ${notAfter.toISOString().slice(0, 10)}`
  const certbot = (command: string) =>
    isObtained ? SEE_ACME : `certbot ${command} ${host}\n${USE_CERTIFICATE}`
  const renew = certbot('renew --cert-name')
  const itself = 'mayfly setup --acme, if the service may have ports 80 and 443; otherwise: '
  const obtain = `${isObtained ? '' : itself}${certbot('certonly --standalone -d')}`
  if (notAfter <= now) return failure(`${seen}: expired`, renew)
  const clock = `Check the clock of this machine: timedatectl\nIf it is right: ${renew}`
  if (notBefore > now) return failure(`${seen}: not valid before ${notBefore.toISOString()}`, clock)
  if (!names.some((name) => matchesName(name, host))) {
    return unverifiable(`${seen}: not for ${host}`, obtain)
  }
  if (untrusted !== '' && isPinned && !isEnforced) return ok(`${seen}, with a TLSA record`)
  const whole =
    'Put the intermediate certificates of the CA behind it, in the file that MAYFLY_SMTP_TLS_CERT names (certbot: fullchain.pem instead of cert.pem)'
  if (NO_ISSUER.test(untrusted) && chain.length === 1 && !isObtained)
    return unverifiable(`${seen}: sent without its issuer (${untrusted})`, whole)
  if (untrusted !== '') return unverifiable(`${seen}: not verifiable (${untrusted})`, obtain)
  const days = overdueDays({ notBefore, notAfter }, now)
  return days === undefined ? ok(seen) : warning(`${seen}: expires in ${days} days`, renew)
}

const NO_ISSUER = /UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT/

/** RFC 6125: a wildcard stands for one label. */
export function matchesName(pattern: string, host: string): boolean {
  const [given, name] = [pattern.toLowerCase(), host.toLowerCase()]
  if (!given.startsWith('*.')) return given === name
  return name.includes('.') && given.slice(2) === name.slice(name.indexOf('.') + 1)
}

export interface TlsaRecord {
  usage: number
  selector: number
  match: number
  /** Hexadecimal. */
  data: string
}

const DANE_TA = 2
const DANE_EE = 3

/**
 * Compares the records with the certificate that is served. `isSigned`: whether they come with signatures (DNSSEC); undefined if the
 * resolver does not pass them on.
 */
export function evaluateTlsa(
  host: string,
  tlsa: Lookup<TlsaRecord>,
  { chain }: Pick<ServedCertificate, 'chain'>,
  isSigned?: boolean,
): CheckResult {
  // RFC 7672 2.1.2: not even an answer without DANE.
  if ('error' in tlsa) {
    const dig = `Make the name servers answer, also without a record: dig TLSA _25._tcp.${host}`
    return warning(`no answer for TLSA records (${tlsa.error}): servers with DANE defer mail`, dig)
  }
  const { records } = tlsa
  if (records.length === 0) return skipped('no TLSA record; optional, for DANE')
  const [leaf] = chain
  const texts = records.map(
    ({ usage, selector, match, data }) => `${usage} ${selector} ${match} ${data.slice(0, 16)}…`,
  )
  const seen = texts.join(', ')
  const publish = tlsaRecord(host, leaf ? hash('sha256', leaf.publicKey) : 'SHA256_OF_KEY')
  const usable = records.filter(({ usage }) => usage === DANE_TA || usage === DANE_EE)
  if (usable.length === 0) return warning(`${seen}: not a usage for mail`, `Replace it: ${publish}`)
  const candidates = ({ usage }: TlsaRecord) => (usage === DANE_EE ? chain.slice(0, 1) : chain)
  const isMatch = (record: TlsaRecord) => candidates(record).some((one) => tlsaMatches(record, one))
  const sign = `Sign the zone of ${host} with DNSSEC, and publish its DS record at the registrar; until then the record has no effect`
  if (isSigned === false)
    return warning(`${seen}: without DNSSEC, senders ignore TLSA records`, sign)
  if (usable.some(isMatch)) return ok(seen)
  return failure(`${seen}: servers with DANE do not deliver to this certificate`, publish)
}

function tlsaMatches(
  { selector, match, data }: TlsaRecord,
  { der, publicKey }: ServedCertificate['chain'][number],
): boolean {
  const content = selector === 1 ? publicKey : der
  const whole = Buffer.from(content).toString('hex')
  const digest = match === 0 ? whole : hash(match === 1 ? 'sha256' : 'sha512', content)
  return digest === data.toLowerCase()
}

export const mtaStsUrl = (domain: string) => `https://mta-sts.${domain}/.well-known/mta-sts.txt`

export const isMtaSts = (text: string) => /^v=STSv1\s*(?:;|$)/i.test(text)

export interface MtaStsFacts {
  host: string
  /** Hosts of MX records that are tried after it. */
  backups: readonly string[]
  /** MAYFLY_MTA_STS. */
  setting: 'off' | 'testing' | 'enforce'
  /** Needed only if the domain has a record. */
  policy: HttpResponse | undefined
  /** The service serves HTTPS itself, without a proxy. */
  servesTls?: boolean
  now: Date
}

/** RFC 8461. */
export function evaluateMtaSts(
  domain: string,
  txt: Lookup<string>,
  facts: MtaStsFacts,
): CheckResult {
  if ('error' in txt) return skipped(`DNS did not answer (${txt.error})`)
  const { setting, now } = facts
  const found = txt.records.filter(isMtaSts)
  const publish = mtaStsRecord(domain, now)
  if (found.length === 0) {
    if (setting === 'off') return skipped('not used; optional')
    return warning(`no record, so senders do not use the policy (${setting})`, publish)
  }
  const isValid = /^[a-z0-9]{1,32}$/i.test(tagsOf(found[0] ?? '').get('id') ?? '')
  if (found.length === 1 && isValid) return evaluatePolicy(domain, facts)
  const seen = `${found.join(', ')}: needs one record with an id of letters and digits`
  return failure(seen, `Replace it: ${publish}`)
}

function evaluatePolicy(
  domain: string,
  { host, backups, setting, policy, servesTls = false }: MtaStsFacts,
): CheckResult {
  const url = mtaStsUrl(domain)
  const wanted = setting === 'off' ? 'testing' : setting
  const serve = `Serve this at ${url}, and change the id in the record whenever it changes (MAYFLY_MTA_STS=${wanted} and docs/tls.md):\n${mtaStsPolicy(host, wanted).trimEnd()}`
  if (!policy) return failure('the policy was not fetched', serve)
  if ('error' in policy) return unfetched(domain, policy, { servesTls, serve })
  const { mode, hosts, maxAge } = readPolicy(policy.body)
  if (policy.status !== 200 || mode === undefined) return invalidPolicy(policy, serve)
  const isAllowed = (one: string) => mode === 'none' || hosts.some((name) => matchesName(name, one))
  const seen = `mode ${mode}, ${hosts.join(', ')}`
  const unreachable = mode === 'enforce' ? failure : warning
  if (!isAllowed(host)) return unreachable(`${seen}: not ${host}`, serve)
  const backup = backups.find((one) => !isAllowed(one))
  const remove = `Remove the MX record of ${backup}, or serve a policy with the line mx: ${backup} by a proxy`
  if (backup !== undefined) return warning(`${seen}: not the MX host ${backup}`, remove)
  if (mode !== 'none' && maxAge < MIN_MAX_AGE_SECONDS)
    return warning(`${seen}: senders forget the policy after ${maxAge} s`, serve)
  const type = policy.contentType ?? 'text/plain'
  const plain = `Serve ${url} with the header Content-Type: text/plain (RFC 8461 3.2)`
  if (!/^text\/plain\s*(?:;|$)/i.test(type))
    return warning(`${seen}: its content type is ${type}, and some senders reject that`, plain)
  const pass = `Make ${servesTls ? `mta-sts.${domain} lead` : `the proxy pass ${url} on`} to this service, and restart it if the setting is new`
  if (setting === 'off' || mode === setting) return ok(seen)
  return warning(`${seen}, but MAYFLY_MTA_STS=${setting}`, pass)
}

function unfetched(
  domain: string,
  { error, cause }: Extract<HttpResponse, { error: string }>,
  { servesTls, serve }: { servesTls: boolean; serve: string },
): CheckResult {
  const seen = `the policy cannot be fetched from here: ${error}`
  // The name may be unknown to the proxy altogether.
  const install = servesTls
    ? SEE_ACME
    : `Install a valid certificate for mta-sts.${domain} in the proxy. ${serve}`
  if (cause === 'network') return warning(seen, `Try it from elsewhere: curl ${mtaStsUrl(domain)}`)
  return failure(seen, cause === 'certificate' ? install : serve)
}

function invalidPolicy(
  { status, location }: { status: number; location?: string | undefined },
  serve: string,
): CheckResult {
  const seen = 'the policy is invalid'
  if (location === undefined) return failure(`${seen} (status ${status})`, serve)
  const direct = `Senders do not follow redirects. ${serve}`
  return failure(`${seen} (status ${status}, redirects to ${location})`, direct)
}

// RFC 8461 3.2 recommends weeks or longer.
const MIN_MAX_AGE_SECONDS = 86_400

/** Whether a policy makes senders refuse a certificate that they cannot verify. */
export function isEnforcedPolicy(policy: HttpResponse | undefined): boolean {
  const isThere = policy !== undefined && 'status' in policy && policy.status === 200
  return isThere && readPolicy(policy.body).mode === 'enforce'
}

/** The mode is undefined if the policy is invalid. */
function readPolicy(body: string): { mode: string | undefined; hosts: string[]; maxAge: number } {
  const valuesOf = (name: string) =>
    [...body.matchAll(new RegExp(`^${name}:[ \\t]*(.*?)[ \\t\\r]*$`, 'gm'))].map(
      ([, value = '']) => value,
    )
  const [mode = ''] = valuesOf('mode')
  const [maxAge = ''] = valuesOf('max_age')
  const isValid =
    valuesOf('version')[0] === 'STSv1' &&
    /^(enforce|testing|none)$/.test(mode) &&
    /^\d{1,10}$/.test(maxAge)
  return { mode: isValid ? mode : undefined, hosts: valuesOf('mx'), maxAge: Number(maxAge) }
}
