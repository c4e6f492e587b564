import { ipv6Groups } from '../../base/ip.ts'

// Records as lines of a zone file.

const TTL_SECONDS = 3_600

function record(name: string, type: string, data: string): string {
  return `${name}. ${TTL_SECONDS} IN ${type} ${data}`
}

export const mxRecord = (domain: string, host: string) => record(domain, 'MX', `10 ${host}.`)

export const addressRecord = (host: string, ip: string) =>
  record(host, ip.includes(':') ? 'AAAA' : 'A', ip)

/** `terms` say who sends; empty if nobody does. */
export const spfRecord = (domain: string, terms: readonly string[] = []) => {
  const end = terms.some(isLastTerm) ? [] : ['-all']
  return record(domain, 'TXT', `"${['v=spf1', ...terms, ...end].join(' ')}"`)
}

/** What decides about all other senders. */
export const isLastTerm = (term: string) => /^(?:[+?~-]?all|redirect=.*)$/i.test(term)

export const dmarcRecord = (domain: string, email = '', policy: 'reject' | 'none' = 'reject') =>
  record(
    `_dmarc.${domain}`,
    'TXT',
    `"v=DMARC1; p=${policy}${email === '' ? '' : `; rua=mailto:${email}`}"`,
  )

/** The id is the time, so that senders do not take the policy for one that they know. */
export const mtaStsRecord = (domain: string, now: Date) => {
  const id = now.toISOString().replace(/\D/g, '').slice(0, 12)
  return record(`_mta-sts.${domain}`, 'TXT', `"v=STSv1; id=${id}"`)
}

export const tlsReportRecord = (domain: string, email: string) =>
  record(`_smtp._tls.${domain}`, 'TXT', `"v=TLSRPTv1; rua=mailto:${email}"`)

/** The key of the certificate itself, so that a renewal with the same key keeps the record valid. */
export const tlsaRecord = (host: string, keySha256: string) =>
  record(`_25._tcp.${host}`, 'TLSA', `3 1 1 ${keySha256}`)

/** The name under which an address is looked up in reverse. */
export function reverseName(ip: string): string {
  if (!ip.includes(':')) return `${ip.split('.').toReversed().join('.')}.in-addr.arpa`
  const digits = ipv6Groups(ip).flatMap((group) => [...group.toString(16).padStart(4, '0')])
  return `${digits.toReversed().join('.')}.ip6.arpa`
}

export const ptrRecord = (ip: string, host: string) => record(reverseName(ip), 'PTR', `${host}.`)

/** The name under which a block list has an address. */
export function listedName(ip: string, list: string): string {
  return `${reverseName(ip).replace(/\.(in-addr|ip6)\.arpa$/, '')}.${list}`
}

export interface ZoneOptions {
  domains: readonly string[]
  host: string
  /** Public addresses of the host; empty if unknown. */
  addresses: readonly string[]
  /** Host name of the web page; undefined without one. */
  webHost: string | undefined
  /** For reports of other mail servers; undefined: the postmaster of each domain. */
  email: string | undefined
  /** The domain that sends receipts, and the SPF mechanism for its server. */
  sender: { domain: string; mechanism: string } | undefined
  mtaSts: boolean
  tlsReporting: boolean
  now: Date
}

/** All records of an installation, as part of a zone file. */
export function zoneLines(options: ZoneOptions): string[] {
  const { domains, host, webHost, sender } = options
  // Most mail servers deliver over IPv4: without such an address this machine is behind NAT.
  const isKnown = options.addresses.some((ip) => !ip.includes(':'))
  const addresses = isKnown ? options.addresses : ['ADDRESS', ...options.addresses]
  const hosts = [...new Set([host, ...(webHost === undefined ? [] : [webHost])])]
  const unknown = isKnown ? [] : ['; Replace ADDRESS with the public IPv4 address of this machine.']
  return [
    ...unknown,
    ...hosts.flatMap((name) => addresses.map((ip) => addressRecord(name, ip))),
    ...domains.flatMap((domain) => {
      // No sender looks for the records of MTA-STS, TLS reporting or DMARC at a wildcard.
      if (domain.startsWith('*.')) return [mxRecord(domain, host), spfRecord(domain)]
      const email = options.email ?? `postmaster@${domain}`
      const sends = sender?.domain === domain
      return [
        mxRecord(domain, host),
        ...(sends ? senderNotes(domain, sender.mechanism) : []),
        spfRecord(domain, sends ? [sender.mechanism] : []),
        dmarcRecord(domain, email, sends ? 'none' : 'reject'),
        ...(options.mtaSts
          ? [
              mtaStsRecord(domain, options.now),
              ...addresses.map((ip) => addressRecord(`mta-sts.${domain}`, ip)),
            ]
          : []),
        ...(options.tlsReporting ? [tlsReportRecord(domain, email)] : []),
        ...reportPermission(domain, email),
      ]
    }),
    ...options.addresses.map((ip) => `; at the provider of the address: ${ptrRecord(ip, host)}`),
  ]
}

function senderNotes(domain: string, mechanism: string): string[] {
  const keep = `; ${domain} sends receipts: keep the SPF and DMARC records that it has.`
  const replace = `; Otherwise replace ${mechanism.split(':')[1]} by the name that your mail provider documents, and publish its DKIM record.`
  return mechanism.startsWith('include:') ? [keep, replace] : [keep]
}

function reportPermission(domain: string, email: string): string[] {
  const receiver = email.slice(email.lastIndexOf('@') + 1)
  if (!needsPermission(domain, receiver)) return []
  return [`; in the zone of ${receiver}: ${permissionRecord(domain, receiver)}`]
}

/** RFC 7489 7.1: a domain must agree to receive the reports of another one. */
export const needsPermission = (domain: string, receiver: string) =>
  !isRelated(domain, receiver) && !domain.endsWith(`.${receiver}`)

export const permissionName = (domain: string, receiver: string) =>
  `${domain}._report._dmarc.${receiver}`

export const permissionRecord = (domain: string, receiver: string) =>
  record(permissionName(domain, receiver), 'TXT', '"v=DMARC1"')

/** Whether both names belong to one owner, as far as names tell: `mx.example.org` and `box.example.org`. */
export function isRelated(one: string, other: string): boolean {
  const zones = [one, parentZone(one)]
  return zones.some((zone) => zone !== '' && (other === zone || other.endsWith(`.${zone}`)))
}

/** `example.org` of `box.example.org`; empty if it may be a suffix such as `co.uk`, where others have names too. */
function parentZone(name: string): string {
  const parent = name.slice(name.indexOf('.') + 1)
  return parent.includes('.') && !/^\w{2,3}\.\w{2}$/.test(parent) ? parent : ''
}
