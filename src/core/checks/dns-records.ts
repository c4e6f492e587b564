import { ipv6Groups } from '../ip.ts'

// Records as lines of a zone file.

const TTL_SECONDS = 3_600

function record(name: string, type: string, data: string): string {
  return `${name}. ${TTL_SECONDS} IN ${type} ${data}`
}

export const mxRecord = (domain: string, host: string) => record(domain, 'MX', `10 ${host}.`)

export const addressRecord = (host: string, ip: string) =>
  record(host, ip.includes(':') ? 'AAAA' : 'A', ip)

/** A domain that sends no mail, or the one server that sends for it. */
export const spfRecord = (domain: string, sender?: string) =>
  record(domain, 'TXT', `"v=spf1 ${sender === undefined ? '' : `a:${sender} `}-all"`)

export const dmarcRecord = (domain: string, email = '') =>
  record(
    `_dmarc.${domain}`,
    'TXT',
    `"v=DMARC1; p=reject${email === '' ? '' : `; rua=mailto:${email}`}"`,
  )

export const mtaStsRecord = (domain: string, id: string) =>
  record(`_mta-sts.${domain}`, 'TXT', `"v=STSv1; id=${id}"`)

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

/** The policy to serve at `https://mta-sts.DOMAIN/.well-known/mta-sts.txt`. */
export const mtaStsPolicy = (host: string, mode: 'enforce' | 'testing' = 'enforce') =>
  `version: STSv1\nmode: ${mode}\nmx: ${host}\nmax_age: 604800\n`

export interface ZoneOptions {
  domains: readonly string[]
  host: string
  /** Public addresses of the host; empty if unknown. */
  addresses: readonly string[]
  /** Host name of the web page; undefined without one. */
  webHost: string | undefined
  /** For reports of other mail servers. */
  email: string
  mtaSts: boolean
  tlsReporting: boolean
}

/** All records of an installation, as part of a zone file. */
export function zoneLines(options: ZoneOptions): string[] {
  const { domains, host, webHost, email } = options
  const addresses = options.addresses.length > 0 ? options.addresses : ['ADDRESS']
  const hosts = [...new Set([host, ...(webHost === undefined ? [] : [webHost])])]
  const unknown =
    options.addresses.length > 0
      ? []
      : ['; Replace ADDRESS with the public address of this machine.']
  return [
    ...unknown,
    ...hosts.flatMap((name) => addresses.map((ip) => addressRecord(name, ip))),
    ...domains.flatMap((domain) => [
      mxRecord(domain, host),
      spfRecord(domain),
      dmarcRecord(domain, email),
      ...(options.mtaSts
        ? [
            mtaStsRecord(domain, '1'),
            ...addresses.map((ip) => addressRecord(`mta-sts.${domain}`, ip)),
          ]
        : []),
      ...(options.tlsReporting ? [tlsReportRecord(domain, email)] : []),
    ]),
    ...options.addresses.map((ip) => `; at the provider of the address: ${ptrRecord(ip, host)}`),
  ]
}
