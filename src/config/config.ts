import { hostname } from 'node:os'
import { parseHost } from '../core/address.ts'
import { accountsFile } from './files.ts'
import { type SettingReader, type SettingSource, settingReader } from './settings.ts'
import { readerConfig, shopConfig } from './shop.ts'
import {
  choice,
  dnsServers,
  duration,
  flag,
  hostName,
  integer,
  ipRanges,
  lifetime,
  mailDomains,
  redisAddress,
  size,
  sizeOrAuto,
  storeAddress,
  text,
  webAddress,
} from './values.ts'

/** Frozen to the last list, and plain enough to be posted to a thread. */
export type Config = ReturnType<typeof readConfig>['config']

/** Reads every setting once. Throws one error that names every bad one. */
export function readConfig(source: SettingSource) {
  const read = settingReader(source)
  const config = {
    ...storeConfig(read),
    ...generalConfig(read),
    http: httpConfig(read),
    smtp: smtpConfig(read),
    sessions: sessionConfig(read),
    senderChecks: senderChecksConfig(read),
    gmailAccounts: read.setting(
      'MAYFLY_GMAIL_ACCOUNTS_FILE',
      accountsFile,
      '',
      'JSON file with the Gmail (or other IMAP) accounts whose aliases are given out',
    ),
    ...readerConfig(read),
    ...shopConfig(read),
  }
  const { provider } = config.payments
  read.check(
    provider !== 'fake' || source.env['NODE_ENV'] !== 'production',
    'MAYFLY_PAYMENTS=fake gives keys away: it is not for NODE_ENV=production',
  )
  read.check(
    provider !== 'stripe' || config.http.baseUrl !== '',
    'MAYFLY_PAYMENTS=stripe needs MAYFLY_BASE_URL: buyers must find their way back',
  )
  read.check(
    config.redis === '' || config.store !== 'sqlite:',
    'MAYFLY_REDIS is for nodes that share a store: set MAYFLY_STORE to their PostgreSQL',
  )
  // Mail may be fetched a while after it came, and its time is another machine's: see core/gmail.ts.
  read.check(
    config.gmailAccounts.length === 0 || config.sessions.cooldownMs >= 3_600_000,
    'MAYFLY_ADDRESS_COOLDOWN: with Gmail accounts an alias rests for 1h at least',
  )
  read.check(
    config.mailOut.url === '' || config.http.baseUrl !== '',
    'MAYFLY_MAIL_OUT needs MAYFLY_BASE_URL: receipts hold a link',
  )
  read.done()
  return { config: frozen(config), settings: read.settings }
}

const port = integer(0, 65_535)
const threads = integer(1, 64)

/** Twelve names under the reserved TLD: a first start needs no domain, and no stranger's is ever used. */
const EXAMPLES = `mayfly dayfly brook pond reed ripple willow heron otter pebble stream meadow`
  .split(' ')
  .map((name) => `${name}.example`)
  .join(',')

function storeConfig({ setting, server }: SettingReader) {
  return {
    data: setting('MAYFLY_DATA', text, './data', 'folder that holds everything we keep'),
    store: server(
      'MAYFLY_STORE',
      storeAddress,
      'sqlite:',
      'where everything is kept: sqlite: (files in MAYFLY_DATA) or postgres://user@host/database',
    ),
    redis: server(
      'MAYFLY_REDIS',
      redisAddress,
      '',
      'what carries news and request rates between nodes on one PostgreSQL: redis://host:6379',
    ),
    minFreeBytes: setting(
      'MAYFLY_MIN_FREE',
      sizeOrAuto,
      'auto',
      'free disk under which no mail is taken; auto: the smaller of 5 % and 512 MB',
    ),
    mailMaxBytes: setting(
      'MAYFLY_MAIL_DB_MAX',
      sizeOrAuto,
      'auto',
      'size at which mail.db takes no more; auto: as the disk allows',
    ),
  }
}

function generalConfig({ setting, secret }: SettingReader) {
  return {
    host: setting('MAYFLY_HOST', text, '::', 'address to listen on; :: is all of them'),
    adminToken: secret(
      'MAYFLY_ADMIN_TOKEN',
      'Bearer token for /metrics and the details of /readyz; without one both are open',
    ),
    rateLimits: setting(
      'MAYFLY_RATE_LIMITS',
      flag,
      'on',
      'request rates per IP and token; off lifts them, never sizes, quotas or storage shares',
    ),
    logLevel: setting(
      'MAYFLY_LOG_LEVEL',
      choice('debug', 'info', 'warn', 'error'),
      'info',
      'how much is logged: debug, info, warn or error',
    ),
    drainMs:
      1000 *
      setting(
        'MAYFLY_DRAIN',
        duration('0s', '10m'),
        '0s',
        'how long a stop waits, unready but serving, for load balancers to look elsewhere',
      ),
    domains: setting(
      'MAYFLY_DOMAINS',
      mailDomains,
      EXAMPLES,
      'mail domains to add at start when not yet known; never removes any',
    ),
    readerDomains: setting(
      'MAYFLY_READER_DOMAINS',
      mailDomains,
      '',
      'mail domains whose unclaimed mail goes to the pool; empty: all of them',
    ),
  }
}

function httpConfig({ setting }: SettingReader) {
  return {
    port: setting('MAYFLY_HTTP_PORT', port, '8080', 'port of the API'),
    threads: setting('MAYFLY_HTTP_THREADS', threads, '1', 'threads that answer HTTP'),
    baseUrl: setting(
      'MAYFLY_BASE_URL',
      webAddress,
      '',
      'address under which the API is reached from outside; empty: as each request names it',
    ),
    trustProxy: setting(
      'MAYFLY_TRUST_PROXY',
      ipRanges,
      '',
      'proxies whose X-Forwarded-For is believed: addresses or CIDR ranges',
    ),
    connections: setting(
      'MAYFLY_HTTP_CONNECTIONS',
      integer(16, 1_000_000),
      '10000',
      'most HTTP connections at once; fewer where the limit of open files (ulimit -n) leaves no room for SMTP',
    ),
  }
}

function smtpConfig({ setting, check }: SettingReader) {
  const tlsCert = setting(
    'MAYFLY_SMTP_TLS_CERT',
    text,
    '',
    'certificate chain for STARTTLS (PEM file); empty: one is made for this installation',
  )
  const tlsKey = setting('MAYFLY_SMTP_TLS_KEY', text, '', 'its private key (PEM file)')
  check(
    (tlsCert === '') === (tlsKey === ''),
    'MAYFLY_SMTP_TLS_CERT and MAYFLY_SMTP_TLS_KEY belong together: give both or neither',
  )
  return {
    port: setting('MAYFLY_SMTP_PORT', port, '2525', 'port on which mail is taken in'),
    threads: setting('MAYFLY_SMTP_THREADS', threads, '1', 'threads that take mail in'),
    hostname: setting(
      'MAYFLY_SMTP_HOSTNAME',
      hostName,
      parseHost(hostname()) ?? 'localhost',
      'our name in the greeting and in Received lines: the name your MX record points to',
    ),
    maxBytes: setting('MAYFLY_MAX_MESSAGE', size('1KB', '25MB'), '10MB', 'largest mail taken'),
    refuseBareNewlines: setting(
      'MAYFLY_SMTP_REFUSE_BARE_NEWLINES',
      flag,
      'off',
      'answer 550 5.6.11 to a mail with a CR or LF that stands alone; else it is kept as it came',
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
      'front-end relays and container proxies, exempt from sender rates and storage shares: addresses or CIDR ranges',
    ),
    bytesPerHour: setting(
      'MAYFLY_SMTP_BYTES_PER_HOUR',
      size('1KB'),
      '1GB',
      'mail data accepted per hour from one IP address (IPv6: per /64)',
    ),
    tlsCert,
    tlsKey,
    connectionsPerIp: 50,
    mailsPerIpAndMinute: 500,
    bytesInFlight: 256 * 1024 * 1024,
  }
}

function sessionConfig({ setting }: SettingReader) {
  return {
    sessionSeconds: setting('MAYFLY_SESSION_TTL', lifetime, '24h', 'life of a session'),
    anonymousMaxSeconds: setting(
      'MAYFLY_ANONYMOUS_MAX_TTL',
      lifetime,
      '7d',
      'longest life of a session created without a key, extensions included',
    ),
    maxSessionSeconds: setting(
      'MAYFLY_SESSION_MAX_TTL',
      lifetime,
      '30d',
      'longest life of any session, extensions included',
    ),
    cooldownMs:
      1000 *
      setting(
        'MAYFLY_ADDRESS_COOLDOWN',
        duration('0s', '3650d'),
        '30d',
        'how long an ended address is kept from everybody but its former owner',
      ),
    maxMessages: setting(
      'MAYFLY_SESSION_MAX_MESSAGES',
      integer(1, 1_000_000),
      '1000',
      'messages one session holds',
    ),
    maxBytes: setting('MAYFLY_SESSION_MAX_BYTES', size('1KB'), '100MB', 'bytes one session holds'),
  }
}

function senderChecksConfig({ setting }: SettingReader) {
  return {
    on: setting(
      'MAYFLY_AUTH_CHECKS',
      flag,
      'on',
      'SPF, DKIM and DMARC of mail that somebody looks at: asks the DNS about its sender; off: asks nobody',
    ),
    dns: setting(
      'MAYFLY_DNS',
      dnsServers,
      '',
      'name servers to ask about senders, such as 9.9.9.9 or 127.0.0.1:5353; empty: the system’s',
    ),
  }
}

type Frozen<T> = T extends string | number | boolean ? T : { readonly [K in keyof T]: Frozen<T[K]> }

function frozen<T>(value: T): Frozen<T> {
  if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) frozen(part)
    Object.freeze(value)
  }
  return value as Frozen<T>
}
