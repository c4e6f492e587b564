import { hostname } from 'node:os'
import { type Host, parseHost } from './core/address.ts'
import { LONGEST_SECONDS, SHORTEST_SECONDS } from './core/session.ts'
import { type SettingSource, settingReader } from './settings.ts'

export type Config = ReturnType<typeof readConfig>['config']

const KB = 1024
const MB = 1024 * KB
const GB = 1024 * MB

/** Reads every setting once. Throws one error that names every bad one. */
export function readConfig(source: SettingSource) {
  const read = settingReader(source)
  const config = {
    data: read.text('MAYFLY_DATA', './data', 'folder that holds everything we keep'),
    store: read.choice(
      'MAYFLY_STORE',
      ['sqlite:'],
      'where mail is kept: sqlite: (files in MAYFLY_DATA)',
    ),
    host: read.text('MAYFLY_HOST', '::', 'address to listen on; :: is all of them'),
    adminToken: read.secret(
      'MAYFLY_ADMIN_TOKEN',
      'Bearer token for /metrics and the details of /readyz; without one both are open',
    ),
    rateLimits: read.flag(
      'MAYFLY_RATE_LIMITS',
      true,
      'request rates per IP and token; off lifts them, never sizes or quotas',
    ),
    logLevel: read.choice(
      'MAYFLY_LOG_LEVEL',
      ['info', 'debug', 'warn', 'error'],
      'how much is logged',
    ),
    minFreeBytes: read.bytes(
      'MAYFLY_MIN_FREE',
      'auto',
      'free disk under which no mail is taken; auto: the smaller of 5 % and 512 MB',
    ),
    mailMaxBytes: read.bytes(
      'MAYFLY_MAIL_DB_MAX',
      'auto',
      'size at which mail.db takes no more; auto: as the disk allows',
    ),
    domains: read.hosts(
      'MAYFLY_DOMAINS',
      EXAMPLES,
      'mail domains to add at start when not yet known; never removes any',
    ),
    readerDomains: read.hosts(
      'MAYFLY_READER_DOMAINS',
      [],
      'mail domains whose unclaimed mail goes to the pool; empty: all of them',
    ),
    http: {
      port: read.integer('MAYFLY_HTTP_PORT', 8080, [0, 65_535], 'port of the API'),
      threads: read.integer('MAYFLY_HTTP_THREADS', 1, [1, 64], 'threads that answer HTTP'),
      baseUrl: read.url(
        'MAYFLY_BASE_URL',
        'address under which the API is reached from outside; empty: http://localhost and the port',
      ),
      trustProxy: read.addresses(
        'MAYFLY_TRUST_PROXY',
        'proxies whose X-Forwarded-For is believed: addresses or CIDR ranges',
      ),
    },
    smtp: {
      port: read.integer('MAYFLY_SMTP_PORT', 2525, [0, 65_535], 'port on which mail is taken in'),
      threads: read.integer('MAYFLY_SMTP_THREADS', 1, [1, 64], 'threads that take mail in'),
      hostname: read.text(
        'MAYFLY_SMTP_HOSTNAME',
        hostname(),
        'our name in the greeting and in Received lines: the name your MX record points to',
      ),
      maxBytes: read.bytes('MAYFLY_MAX_MESSAGE', 10 * MB, 'largest mail taken', [KB, 25 * MB]),
      refuseBareNewlines: read.flag(
        'MAYFLY_SMTP_REFUSE_BARE_NEWLINES',
        false,
        'answer 550 5.6.11 to a mail with a CR or LF that stands alone; else it is kept as it came',
      ),
      proxyFrom: read.addresses(
        'MAYFLY_SMTP_PROXY_FROM',
        'load balancers that must send a PROXY header: addresses or CIDR ranges',
      ),
      tlsCert: read.text(
        'MAYFLY_SMTP_TLS_CERT',
        '',
        'certificate chain for STARTTLS (PEM file); empty: one is made for this installation',
      ),
      tlsKey: read.text('MAYFLY_SMTP_TLS_KEY', '', 'its private key (PEM file)'),
    },
    sessions: {
      sessionSeconds: read.seconds('MAYFLY_SESSION_TTL', '24h', 'life of a session', LIFE),
      maxSessionSeconds: read.seconds(
        'MAYFLY_SESSION_MAX_TTL',
        '30d',
        'longest life of a session, extensions included',
        LIFE,
      ),
      cooldownMs:
        read.seconds(
          'MAYFLY_ADDRESS_COOLDOWN',
          '30d',
          'how long an ended address is kept from everybody but its former owner',
          [0, LONGEST_SECONDS],
        ) * 1000,
      maxMessages: read.integer(
        'MAYFLY_SESSION_MAX_MESSAGES',
        1_000,
        [1, 1_000_000],
        'messages one session holds',
      ),
      maxBytes: read.bytes('MAYFLY_SESSION_MAX_BYTES', 100 * MB, 'bytes one session holds'),
    },
    pool: {
      ttlMs: read.seconds('MAYFLY_POOL_TTL', '24h', 'how long pool mail is kept', LIFE) * 1000,
      maxBytes: read.bytes('MAYFLY_POOL_BYTES', GB, 'bytes the pool holds in all'),
    },
  }
  read.check(
    (config.smtp.tlsCert === '') === (config.smtp.tlsKey === ''),
    'MAYFLY_SMTP_TLS_CERT and MAYFLY_SMTP_TLS_KEY belong together: give both or neither',
  )
  read.done()
  return { config, settings: read.settings }
}

const LIFE: [number, number] = [SHORTEST_SECONDS, LONGEST_SECONDS]

/** Twelve names under the reserved TLD: a first start needs no domain, and no stranger's is ever used. */
const EXAMPLES = [
  'mayfly',
  'dayfly',
  'brook',
  'pond',
  'reed',
  'ripple',
  'willow',
  'heron',
  'otter',
  'pebble',
  'stream',
  'meadow',
]
  .map((name) => parseHost(`${name}.example`))
  .filter((host): host is Host => host !== undefined)
