import { hostname } from 'node:os'
import { parseHost } from '../base/address.ts'
import type { SettingReader } from '../base/settings/settings.ts'
import {
  dnsServers,
  flag,
  hostName,
  ipRanges,
  port,
  size,
  text,
  threads,
} from '../base/settings/values.ts'

export function smtpConfig(
  { setting, check }: SettingReader,
  memory: { threads: number; mailBytes: number },
) {
  const tlsCert = setting(
    'MAYFLY_SMTP_TLS_CERT',
    text,
    '',
    'certificate chain for STARTTLS (PEM file); empty: self-signed',
  )
  const tlsKey = setting('MAYFLY_SMTP_TLS_KEY', text, '', 'private key for STARTTLS (PEM file)')
  check(
    (tlsCert === '') === (tlsKey === ''),
    'MAYFLY_SMTP_TLS_CERT and MAYFLY_SMTP_TLS_KEY: set both or neither',
  )
  return {
    port: setting('MAYFLY_SMTP_PORT', port, '2525', 'port for SMTP'),
    threads: setting(
      // One writer commits for all of them, and three keep it busy.
      'MAYFLY_SMTP_THREADS',
      threads(Math.min(3, memory.threads)),
      'auto',
      'number of SMTP threads; auto: one less than cores, from 1 to 3, and 1 if MAYFLY_MEMORY is less than 768MB',
    ),
    hostname: setting(
      'MAYFLY_SMTP_HOSTNAME',
      hostName,
      parseHost(hostname()) ?? 'localhost',
      'host name in the greeting and in Received headers: the target of your MX record',
    ),
    maxBytes: setting('MAYFLY_MAX_MESSAGE', size('1KB', '25MB'), '10MB', 'maximum size of a mail'),
    refuseBareNewlines: setting(
      'MAYFLY_SMTP_REFUSE_BARE_NEWLINES',
      flag,
      'off',
      'reject mail with a bare CR or LF with 550 5.6.11; off: store it unchanged',
    ),
    proxyFrom: setting(
      'MAYFLY_SMTP_PROXY_FROM',
      ipRanges,
      '',
      'load balancers that must send a PROXY header: addresses or CIDR ranges',
    ),
    relays: setting(
      'MAYFLY_SMTP_RELAYS',
      ipRanges,
      '',
      'relays and container proxies exempt from sender rate limits and storage shares: addresses or CIDR ranges',
    ),
    bytesPerHour: setting(
      'MAYFLY_SMTP_BYTES_PER_HOUR',
      size('1KB'),
      '1GB',
      'mail accepted per hour from one IP address (IPv6: /64)',
    ),
    tlsCert,
    tlsKey,
    connectionsPerIp: 50,
    mailsPerIpAndMinute: 500,
    bytesInFlight: memory.mailBytes,
  }
}

export function senderChecksConfig({ setting }: SettingReader) {
  return {
    on: setting(
      'MAYFLY_AUTH_CHECKS',
      flag,
      'on',
      'check SPF, DKIM and DMARC of mail that is read, by DNS queries about its sender',
    ),
    dns: setting(
      'MAYFLY_DNS',
      dnsServers,
      '',
      'DNS servers for sender checks and mayfly doctor, such as 9.9.9.9 or 127.0.0.1:5353; empty: those of the system',
    ),
  }
}
