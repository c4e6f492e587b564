import { resolve } from 'node:path'
import { mailOutConfig } from '../base/mailer.ts'
import {
  frozen,
  type SettingReader,
  type SettingSource,
  settingReader,
} from '../base/settings/settings.ts'
import {
  choice,
  duration,
  flag,
  httpUrl,
  integer,
  ipRanges,
  lifetime,
  mailDomains,
  port,
  redisUrl,
  size,
  sizeOrAuto,
  storeUrl,
  text,
  threads,
} from '../base/settings/values.ts'
import { checksConfig } from '../doctor/settings.ts'
import { ownDomainConfig } from '../domains/own/settings.ts'
import { doorConfig } from '../doors/settings.ts'
import { accountConfig } from '../gmail/settings.ts'
import { keyedApiConfig, NO_SHOP } from '../keys/settings.ts'
import { mailLogConfig } from '../mail/log/settings.ts'
import { mcpConfig } from '../mcp/settings.ts'
import { shopConfig } from '../shop/settings.ts'
import { senderChecksConfig, smtpConfig } from '../smtp/settings.ts'
import { backupConfig } from '../store/backup/settings.ts'
import { acmeConfig } from '../tls/settings.ts'
import { webhookConfig } from '../webhooks/settings.ts'
import { type MemoryLimits, memoryLimits, memorySize } from './memory.ts'

/** Deeply frozen, and can be posted to a thread. */
export type Config = ReturnType<typeof readConfig>['config']

/** Reads every setting once. Throws one error that names every invalid one. */
export function readConfig(source: SettingSource) {
  const read = settingReader(source)
  const general = { ...storeConfig(read), ...generalConfig(read) }
  const { memory } = general
  const http = httpConfig(read, memory)
  const smtp = smtpConfig(read, memory)
  const sessions = sessionConfig(read)
  const keyed = keyedApiConfig(read)
  const { baseUrl } = http
  const isProduction = source.env['NODE_ENV'] === 'production'
  const config = {
    ...general,
    ownHosts: [smtp.hostname, ...(URL.canParse(baseUrl) ? [new URL(baseUrl).hostname] : [])],
    http,
    smtp,
    sessions,
    senderChecks: senderChecksConfig(read),
    ...mailLogConfig(read),
    mailOut: mailOutConfig(read, baseUrl),
    ...acmeConfig(read, http),
    ...keyed,
    ...NO_SHOP,
    // A line for each folder that has settings.
    ...accountConfig(read, sessions),
    ...webhookConfig(read),
    ...ownDomainConfig(read),
    ...shopConfig(read, { ...keyed, baseUrl, isProduction }),
    ...checksConfig(read),
    ...backupConfig(read),
    ...mcpConfig(read),
    ...doorConfig(read),
  }
  read.check(
    config.redis === '' || config.store !== 'sqlite:',
    'MAYFLY_REDIS requires a shared store: set MAYFLY_STORE to a PostgreSQL URL',
  )
  read.check(
    config.backup.folder === '' || config.store === 'sqlite:',
    'MAYFLY_BACKUP is for SQLite only: back up PostgreSQL with pg_dump, as docs/scaling.md describes',
  )
  read.check(
    config.backup.folder === '' || resolve(config.backup.folder) !== resolve(config.data),
    'MAYFLY_BACKUP must not be MAYFLY_DATA: both would be lost together',
  )
  read.throwIfInvalid()
  return { config: frozen(config), settings: read.settings }
}

/** Twelve names under a reserved TLD: a first start needs no domain, and never uses someone else's. */
const EXAMPLES = `mayfly dayfly brook pond reed ripple willow heron otter pebble stream meadow`
  .split(' ')
  .map((name) => `${name}.example`)
  .join(',')

function storeConfig({ setting, server }: SettingReader) {
  return {
    data: setting('MAYFLY_DATA', text, './data', 'data directory'),
    store: server(
      'MAYFLY_STORE',
      storeUrl,
      'sqlite:',
      'storage: sqlite: (files in MAYFLY_DATA) or postgres://user@host/database',
    ),
    redis: server(
      'MAYFLY_REDIS',
      redisUrl,
      '',
      'Redis for notifications and rate limits across nodes that share one PostgreSQL: redis://host:6379',
    ),
    minFreeBytes: setting(
      'MAYFLY_MIN_FREE',
      sizeOrAuto,
      'auto',
      'free disk space below which mail is deferred; auto: 5 % or 512 MB, whichever is less',
    ),
    mailMaxBytes: setting(
      'MAYFLY_MAIL_DB_MAX',
      sizeOrAuto,
      'auto',
      'maximum size of mail.db; auto: as much as the disk allows',
    ),
  }
}

function generalConfig({ setting, secret }: SettingReader) {
  return {
    host: setting('MAYFLY_HOST', text, '::', 'address to listen on; :: means all'),
    adminToken: secret(
      'MAYFLY_ADMIN_TOKEN',
      'Token for /admin, /metrics and the details of /readyz; empty: no /admin, and the others are public',
    ),
    rateLimits: setting(
      'MAYFLY_RATE_LIMITS',
      flag,
      'on',
      'rate limits per IP and token; off disables them, but not limits on size, quota or storage',
    ),
    logLevel: setting(
      'MAYFLY_LOG_LEVEL',
      choice('debug', 'info', 'warn', 'error'),
      'info',
      'minimum level of log messages: debug, info, warn or error',
    ),
    memory: memoryLimits(
      setting(
        'MAYFLY_MEMORY',
        memorySize,
        'auto',
        'memory to fit threads, caches, queues and child processes into; auto: that of the machine or of its control group',
      ),
    ),
    drainMs:
      1000 *
      setting(
        'MAYFLY_DRAIN',
        duration('0s', '10m'),
        '0s',
        'how long the service keeps serving, but not ready, before it stops: for load balancers',
      ),
    domains: setting(
      'MAYFLY_DOMAINS',
      mailDomains,
      EXAMPLES,
      'mail domains to add at start, also *.name for addresses at its subdomains; never removes any',
    ),
    readerDomains: setting(
      'MAYFLY_READER_DOMAINS',
      mailDomains,
      '',
      'mail domains whose unclaimed mail goes to the pool; empty: all but wildcards',
    ),
  }
}

function httpConfig({ setting }: SettingReader, memory: Pick<MemoryLimits, 'threads'>) {
  return {
    port: setting('MAYFLY_HTTP_PORT', port, '8080', 'port for HTTP'),
    threads: setting(
      // Each has its own caches, and with PostgreSQL its own connections.
      'MAYFLY_HTTP_THREADS',
      threads(memory.threads),
      'auto',
      'number of HTTP threads; auto: one less than cores, from 1 to 4, and 1 if MAYFLY_MEMORY is less than 768MB',
    ),
    baseUrl: setting(
      'MAYFLY_BASE_URL',
      httpUrl,
      '',
      'public URL of the service; empty: taken from each request',
    ),
    trustProxy: setting(
      'MAYFLY_TRUST_PROXY',
      ipRanges,
      '',
      'proxies whose X-Forwarded-For is trusted: addresses or CIDR ranges',
    ),
    mtaSts: setting(
      'MAYFLY_MTA_STS',
      choice('off', 'testing', 'enforce'),
      'off',
      'serve an MTA-STS policy with this mode at mta-sts.DOMAIN/.well-known/mta-sts.txt',
    ),
    connections: setting(
      'MAYFLY_HTTP_CONNECTIONS',
      integer(16, 1_000_000),
      '10000',
      'maximum number of HTTP connections; reduced if the limit on open files (ulimit -n) requires it',
    ),
    // Long polls and streams: how often they read the store without a notification, and write something.
    intervals: { pollMs: 3_000, heartbeatMs: 15_000 },
    // How long a response waits for codes and sender checks: barely noticeable, and longer than parsing an ordinary mail takes.
    resultWaitMs: 300,
    parseDeadlineMs: 10_000,
  }
}

function sessionConfig({ setting }: SettingReader) {
  return {
    sessionSeconds: setting('MAYFLY_SESSION_TTL', lifetime, '24h', 'lifetime of a session'),
    anonymousMaxSeconds: setting(
      'MAYFLY_ANONYMOUS_MAX_TTL',
      lifetime,
      '7d',
      'maximum lifetime of a session created without a key, including extensions',
    ),
    maxSessionSeconds: setting(
      'MAYFLY_SESSION_MAX_TTL',
      lifetime,
      '30d',
      'maximum lifetime of any session, including extensions',
    ),
    cooldownMs:
      1000 *
      setting(
        'MAYFLY_ADDRESS_COOLDOWN',
        duration('0s', '3650d'),
        '30d',
        'cool-down: how long an expired address stays with its last owner',
      ),
    maxMessages: setting(
      'MAYFLY_SESSION_MAX_MESSAGES',
      integer(1, 1_000_000),
      '1000',
      'maximum number of messages in a session',
    ),
    maxBytes: setting(
      'MAYFLY_SESSION_MAX_BYTES',
      size('1KB'),
      '100MB',
      'maximum size of the messages in a session',
    ),
  }
}
