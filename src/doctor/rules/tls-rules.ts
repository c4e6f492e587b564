import { hash } from 'node:crypto'
import { mtaStsPolicy } from '../../mail/rules/mta-sts.ts'
import { mtaStsRecord, tlsaRecord, tlsReportRecord } from './dns-records.ts'
import { tagsOf } from './dns-rules.ts'
import { type CheckResult, failure, type Lookup, ok, skipped, warning } from './result.ts'

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

// The directories of certbot are open to root only: with a path there, the service would not start.
const USE_CERTIFICATE =
  'Copy the files for the user of the service by the deploy hook of docs/tls.md, and set MAYFLY_SMTP_TLS_CERT=/etc/mayfly/smtp-cert.pem and MAYFLY_SMTP_TLS_KEY=/etc/mayfly/smtp-key.pem'

/**
 * Most servers deliver to a certificate that they cannot verify; if an MTA-STS policy is enforced, they do not. With a TLSA record (`isPinned`), no
 * CA is needed.
 */
export function evaluateCertificate(
  host: string,
  certificate: ServedCertificate,
  now: Date,
  { isEnforced = false, isPinned = false } = {},
): CheckResult {
  const unverifiable = isEnforced ? failure : warning
  const { names, notBefore, notAfter, untrusted } = certificate
  const until = notAfter.toISOString().slice(0, 10)
  const seen = `for ${names.join(', ') || 'no name'}, valid until ${until}`
  const renew = `certbot renew --cert-name ${host}\n${USE_CERTIFICATE}`
  const obtain = `certbot certonly --standalone -d ${host}\n${USE_CERTIFICATE}`
  if (notAfter <= now) return failure(`${seen}: expired`, renew)
  if (notBefore > now) return failure(`${seen}: not valid before ${notBefore.toISOString()}`, renew)
  if (!names.some((name) => matchesName(name, host))) {
    return unverifiable(`${seen}: not for ${host}`, obtain)
  }
  if (untrusted !== '' && isPinned && !isEnforced) return ok(`${seen}, with a TLSA record`)
  if (untrusted !== '') {
    return unverifiable(`${seen}: encrypted, but not verifiable (${untrusted})`, obtain)
  }
  const days = Math.floor((notAfter.getTime() - now.getTime()) / DAY_MS)
  if (days < RENEWAL_DAYS) return warning(`${seen}: expires in ${days} days`, renew)
  return ok(seen)
}

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

/** Compares the records with the certificate that is served; whether the zone is signed is not judged. */
export function evaluateTlsa(
  host: string,
  tlsa: Lookup<TlsaRecord>,
  { chain }: Pick<ServedCertificate, 'chain'>,
): CheckResult {
  // RFC 7672 2.1.2: not even an answer without DANE.
  if ('error' in tlsa) {
    return warning(
      `DNS does not answer for TLSA records (${tlsa.error}): servers with DANE defer mail`,
      `Make the name servers answer, also if there is no record: dig TLSA _25._tcp.${host}`,
    )
  }
  const { records } = tlsa
  if (records.length === 0) return skipped('no TLSA record; optional, for DANE')
  const leaf = chain[0]
  const publish = tlsaRecord(host, leaf ? hash('sha256', leaf.publicKey) : 'SHA256_OF_KEY')
  const usable = records.filter(({ usage }) => usage === DANE_TA || usage === DANE_EE)
  if (usable.length === 0) {
    return warning(
      `${textOf(records)}: mail servers use only 2 (DANE-TA) and 3 (DANE-EE)`,
      `Replace it: ${publish}`,
    )
  }
  const matches = usable.some((record) =>
    (record.usage === DANE_EE ? chain.slice(0, 1) : chain).some((one) => tlsaMatches(record, one)),
  )
  if (!matches) {
    return failure(
      `${textOf(records)}: does not match the certificate, so servers with DANE do not deliver`,
      publish,
    )
  }
  return ok(textOf(records))
}

function tlsaMatches(
  { selector, match, data }: TlsaRecord,
  { der, publicKey }: { der: Uint8Array; publicKey: Uint8Array },
): boolean {
  const content = selector === 1 ? publicKey : der
  const digest =
    match === 0
      ? Buffer.from(content).toString('hex')
      : hash(match === 1 ? 'sha256' : 'sha512', content)
  return digest === data.toLowerCase()
}

function textOf(records: readonly TlsaRecord[]): string {
  return records
    .map(
      ({ usage, selector, match, data }) => `${usage} ${selector} ${match} ${data.slice(0, 16)}…`,
    )
    .join(', ')
}

/** The policy as fetched: the status and body, or the error, which may only be one of this network. */
export type FetchedPolicy =
  | { status: number; body: string }
  | { error: string; isReachability: boolean }

export const mtaStsUrl = (domain: string) => `https://mta-sts.${domain}/.well-known/mta-sts.txt`

export function hasMtaSts(txt: Lookup<string>): boolean {
  return 'records' in txt && txt.records.some(isSts)
}

const isSts = (text: string) => /^v=STSv1\s*(?:;|$)/i.test(text)

export interface MtaStsFacts {
  host: string
  /** Hosts of MX records that are tried after it. */
  backups: readonly string[]
  /** MAYFLY_MTA_STS. */
  setting: 'off' | 'testing' | 'enforce'
  /** Needed only if the domain has a record. */
  policy: FetchedPolicy | undefined
  now: Date
}

/** RFC 8461. */
export function evaluateMtaSts(
  domain: string,
  txt: Lookup<string>,
  { host, backups, setting, policy, now }: MtaStsFacts,
): CheckResult {
  if ('error' in txt) return skipped(`DNS did not answer (${txt.error})`)
  const found = txt.records.filter(isSts)
  const [record = '', second] = found
  const publish = mtaStsRecord(domain, now)
  if (record === '') {
    if (setting === 'off') return skipped('not used; optional')
    return warning(
      `no record, so senders do not use the policy (MAYFLY_MTA_STS=${setting})`,
      publish,
    )
  }
  if (second !== undefined || !/^[a-z0-9]{1,32}$/i.test(tagsOf(record).get('id') ?? '')) {
    return failure(
      `${found.join(', ')}: senders ignore it (one record with an id of letters and digits)`,
      `Replace it: ${publish}`,
    )
  }
  return evaluatePolicy(domain, { host, backups, setting, policy })
}

function evaluatePolicy(
  domain: string,
  { host, backups, setting, policy }: Omit<MtaStsFacts, 'now'>,
): CheckResult {
  const url = mtaStsUrl(domain)
  const wanted = setting === 'off' ? 'testing' : setting
  const serve = `Serve this at ${url}, and change the id in the record whenever it changes (MAYFLY_MTA_STS=${wanted} and docs/tls.md):\n${mtaStsPolicy(host, wanted).trimEnd()}`
  if (!policy) return failure('the policy was not fetched', serve)
  if ('error' in policy && policy.isReachability) {
    return warning(
      `the policy cannot be fetched from here (${policy.error}); many networks cannot reach their own public address`,
      `Try it from elsewhere: curl ${url}`,
    )
  }
  if ('error' in policy) return failure(`the policy cannot be fetched: ${policy.error}`, serve)
  if (policy.status !== 200) return failure(`the policy has status ${policy.status}`, serve)
  const { mode, hosts } = readPolicy(policy.body)
  if (mode === undefined) return failure('the policy is invalid', serve)
  const isAllowed = (one: string) => mode === 'none' || hosts.some((name) => matchesName(name, one))
  if (!isAllowed(host)) {
    const seen = `the policy (${mode}) allows ${hosts.join(', ') || 'no host'}, not ${host}`
    return mode === 'enforce' ? failure(seen, serve) : warning(seen, serve)
  }
  const backup = backups.find((one) => !isAllowed(one))
  if (backup !== undefined) {
    return warning(
      `the policy (${mode}) does not allow the MX host ${backup}`,
      `Remove the MX record of ${backup}, or serve a policy with the line mx: ${backup} at the proxy`,
    )
  }
  if (setting === 'off' || mode === setting) return ok(`mode ${mode}, ${hosts.join(', ')}`)
  return warning(
    `the policy has mode ${mode}, but MAYFLY_MTA_STS=${setting}`,
    `Make the proxy pass ${url} on to this service, and restart it if the setting is new`,
  )
}

/** The mode is undefined if the policy is invalid. */
function readPolicy(body: string): { mode: string | undefined; hosts: string[] } {
  const fields = body.split(/\r?\n/).map((line) => line.split(/:\s*/, 2))
  const values = (name: string) =>
    fields.filter(([one]) => one === name).map(([, value = '']) => value.trim())
  const [[version], [mode = ''], [maxAge = '']] = ['version', 'mode', 'max_age'].map(values) as [
    string[],
    string[],
    string[],
  ]
  const isValid =
    version === 'STSv1' && /^(enforce|testing|none)$/.test(mode) && /^\d{1,10}$/.test(maxAge)
  return { mode: isValid ? mode : undefined, hosts: values('mx') }
}

export function evaluateTlsReporting(
  domain: string,
  txt: Lookup<string>,
  email: string,
): CheckResult {
  if ('error' in txt) return skipped(`DNS did not answer (${txt.error})`)
  const found = txt.records.filter((text) => /^v=TLSRPTv1\s*(?:;|$)/i.test(text))
  const [record = '', second] = found
  if (record === '') return skipped('not used; optional')
  if (
    second !== undefined ||
    !/^(mailto:\S+@|https:\/\/)\S+$/i.test(tagsOf(record).get('rua') ?? '')
  ) {
    return warning(
      `${found.join(', ')}: no reports are sent (one record with rua=mailto:…)`,
      `Replace it: ${tlsReportRecord(domain, email)}`,
    )
  }
  return ok(record)
}
