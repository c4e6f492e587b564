import { MIN_TOKEN_LENGTH } from '../../base/id.ts'
import { ipRangeMatcher, isLoopback } from '../../base/ip.ts'
import { StoreUnavailable } from '../../base/problem.ts'
import { type LedgerState, ledgerWarning } from '../../mail/rules/ledger.ts'
import { type CheckResult, failure, ok, skipped, warning } from './result.ts'

const MB = 1024 * 1024

export interface DataDirectory {
  path: string
  /** What is kept there: mail, only the self-signed certificate, or nothing. */
  use: 'mail' | 'certificate' | 'nothing'
  /** Why files cannot be created there; undefined if they can. */
  fault: string | undefined
  uid: number
  /** The user that runs the check. */
  ownUid: number
  /** Permission bits. */
  mode: number
  freeBytes: number
  /** Below this, mail is deferred. */
  minFreeBytes: number
  /** Undefined if it was not measured: files of root would be in the way of the service. */
  fsyncMs: number | undefined
}

const SLOW_FSYNC_MS = 50

const ROOT = 0

export function evaluateDataDirectory(data: DataDirectory): CheckResult {
  const { path, use, fault, freeBytes, fsyncMs } = data
  if (use === 'nothing') return skipped('not used')
  if (fault !== undefined) {
    return failure(`${path}: ${fault}`, `install -d -m 700 ${path}, as the user of the service`)
  }
  if (data.uid !== data.ownUid && data.ownUid !== ROOT) {
    return failure(
      `${path} belongs to user ${data.uid}, and user ${data.ownUid} runs this command`,
      `Run it as the user of the service: setpriv --reuid ${data.uid} --clear-groups`,
    )
  }
  const isMail = use === 'mail'
  const sync = fsyncMs === undefined ? '' : `, fsync ${fsyncMs.toFixed(1)} ms`
  const seen = `${path}: ${Math.floor(freeBytes / MB)} MB free${sync}`
  const least = `below ${Math.floor(data.minFreeBytes / MB)} MB mail is deferred with 452`
  if (isMail && freeBytes < data.minFreeBytes) {
    return failure(
      `${seen}: ${least}`,
      'Free some space, move MAYFLY_DATA to a larger disk, or lower MAYFLY_MIN_FREE',
    )
  }
  if ((data.mode & 0o077) !== 0) {
    return warning(
      `${path} has mode ${data.mode.toString(8)}: other users can look inside`,
      `chmod 700 ${path}`,
    )
  }
  if (isMail && freeBytes < 2 * data.minFreeBytes) {
    return warning(`${seen}: ${least}`, 'Free some space, or move MAYFLY_DATA to a larger disk')
  }
  if (isMail && (fsyncMs ?? 0) > SLOW_FSYNC_MS) {
    return warning(
      `${seen}: slow, each mail waits for one`,
      'Use a local SSD for MAYFLY_DATA, not a network file system',
    )
  }
  return ok(seen)
}

/** Of addresses that ever belonged to a session. */
export function evaluateLedger(state: LedgerState | undefined): CheckResult {
  if (!state) return skipped('created when the service starts')
  const seen = ledgerWarning(state)
  if (seen === undefined) return ok(state.pruned ? 'empty: the pool is off' : 'complete')
  return warning(seen, 'Wait until then, or accept the risk: mayfly ledger trust')
}

const MAX_OFFSET_MS = 60_000

/** `synchronized` is what the system says, `offsetMs` the difference to another machine; undefined if unknown. */
export function evaluateClock({
  synchronized,
  offsetMs,
  reference,
}: {
  synchronized: boolean | undefined
  offsetMs: number | undefined
  /** The other machine. */
  reference: string
}): CheckResult {
  const fix = 'Synchronize the clock: timedatectl set-ntp true'
  if (offsetMs !== undefined && Math.abs(offsetMs) > MAX_OFFSET_MS) {
    const seconds = Math.round(offsetMs / 1_000)
    return failure(
      `${reference} is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} this machine: sessions would expire at the wrong time`,
      `${fix}, here and at ${reference}`,
    )
  }
  if (synchronized === false) return warning('the system clock is not synchronized', fix)
  if (synchronized === undefined && offsetMs === undefined) {
    return skipped('the system does not report whether its clock is synchronized')
  }
  const agrees = offsetMs === undefined ? '' : `agrees with ${reference}`
  return ok([synchronized ? 'synchronized' : '', agrees].filter((part) => part !== '').join(', '))
}

/** `open` tells whether the running service gives metrics without the token; undefined if it is not running. */
export function evaluateAdminToken(token: string, open: boolean | undefined): CheckResult {
  const make =
    'mayfly setup creates one; or: (umask 077; openssl rand -base64 32 > admin-token), and set MAYFLY_ADMIN_TOKEN_FILE to the path of that file, which the service must be able to read'
  if (token === '') {
    return warning('not set: /metrics and the details of /readyz are public', make)
  }
  if (open) {
    return failure(
      'the running service gives /metrics without the token: it has other settings than this command',
      'Restart the service: systemctl restart mayfly',
    )
  }
  if (token.length < MIN_TOKEN_LENGTH) {
    return warning(`only ${token.length} characters: it could be guessed`, make)
  }
  return ok('set')
}

/** An error of our API. */
export interface ApiProblem {
  status: number
  code: string
  message: string
}

/** `/api/domains` of the running service fails. `storeFault`: why this command cannot use the store either, which other checks report. */
export function evaluateApiProblem(
  { status, code, message }: ApiProblem,
  storeFault: string | undefined,
): CheckResult {
  if (storeFault !== undefined) return skipped('see store and postgres')
  if (status === 429) {
    return skipped('too many requests from this machine, or from a proxy that hides its clients')
  }
  return failure(
    `/api/domains: ${status} ${code}: ${message}`,
    message === new StoreUnavailable().message
      ? 'The service cannot use its store, although other programs can: restart the service, and read its log'
      : 'Run the command again; if the problem persists, read the log of the service',
  )
}

/** Response to `/api/domains`, through the public URL and directly. */
export type PublicResponse = { status: number; body: string } | { error: string; isTls: boolean }

export function evaluateBaseUrl(
  baseUrl: string,
  { response, local }: { response: PublicResponse | undefined; local: string | undefined },
): CheckResult {
  if (baseUrl === '') {
    return warning(
      'MAYFLY_BASE_URL is not set: links follow the Host header that a client sends',
      'Set MAYFLY_BASE_URL=https://… to the address of your reverse proxy',
    )
  }
  const url = new URL(baseUrl)
  const isLocal = url.hostname === 'localhost' || isLoopback(url.hostname.replace(/^\[|\]$/g, ''))
  if (response && 'error' in response) {
    if (response.isTls) {
      return failure(
        `${baseUrl}: ${response.error}`,
        `Install a valid certificate for ${url.hostname} in the proxy; Caddy obtains one automatically`,
      )
    }
    return warning(
      `${baseUrl} cannot be reached from here (${response.error}); many networks cannot reach their own public address`,
      `Try it from elsewhere: curl -i ${baseUrl}/livez`,
    )
  }
  const isRedirect =
    response && 'status' in response && [301, 302, 307, 308].includes(response.status)
  if (isRedirect && url.protocol === 'http:') {
    return warning(
      `${baseUrl} redirects, most likely to HTTPS: links should go there at once`,
      `Set MAYFLY_BASE_URL=https://${url.host}`,
    )
  }
  if (response && local !== undefined && (response.status !== 200 || response.body !== local)) {
    return failure(
      `${baseUrl}/api/domains has status ${response.status} and is not this service`,
      `Make the proxy forward ${url.hostname} to the HTTP port of this service, with its path`,
    )
  }
  if (url.protocol === 'http:' && !isLocal) {
    return warning(
      `${baseUrl} is not encrypted: tokens and mail can be read on the way`,
      `Put a proxy with TLS in front and set MAYFLY_BASE_URL=https://${url.host}`,
    )
  }
  return ok(response === undefined ? baseUrl : `${baseUrl} is this service`)
}

export interface ProxyFacts {
  baseUrl: string
  trustProxy: readonly string[]
  rateLimits: boolean
  /** How the service counts a request of ours through the base URL; null: not at all. Undefined if that is unknown. */
  counted: string | null | undefined
}

/** Whether rate limits count clients rather than the proxy. */
export function evaluateProxy(facts: ProxyFacts): CheckResult {
  const { baseUrl, trustProxy, rateLimits, counted } = facts
  if (!rateLimits) return skipped('MAYFLY_RATE_LIMITS=off')
  const wide = trustProxy.find((range) => coversInternet(range))
  if (wide !== undefined) {
    return failure(
      `MAYFLY_TRUST_PROXY=${wide} trusts everyone: clients can forge the address that is counted`,
      'Set MAYFLY_TRUST_PROXY to the address of your proxy alone, such as 127.0.0.1',
    )
  }
  if (!baseUrl.startsWith('https:')) return skipped('no proxy: MAYFLY_BASE_URL is not https')
  const trust = 'Set MAYFLY_TRUST_PROXY to the address of your proxy, such as 127.0.0.1'
  if (trustProxy.length === 0 || counted === 'untrusted local proxy') {
    return failure('the proxy is not trusted: all of its clients share one rate limit', trust)
  }
  // Without a forwarded address, the proxy itself is counted, or nobody if it is on loopback and not trusted.
  if (counted === null || (counted !== undefined && ipRangeMatcher(trustProxy)(counted))) {
    return failure(
      'the proxy does not say who its clients are: they are not counted one by one',
      'Make it send X-Forwarded-For; nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
    )
  }
  if (counted === undefined)
    return ok(`trusted: ${trustProxy.join(', ')}; not tested, because no response came through it`)
  return ok(`trusted: ${trustProxy.join(', ')}; this machine counts as ${counted}`)
}

/** Wider than any network of one operator. */
function coversInternet(range: string): boolean {
  const [address = '', bits = '128'] = range.split('/')
  return Number(bits) <= (address.includes(':') ? 16 : 7)
}

const HOUR_MS = 3_600_000

const MAX_BACKUP_HOURS = 7 * 24

/** `entries` is the number of keys, orders and blocks; `at` when `mayfly backup` last succeeded. */
export function evaluateBackup(
  { entries, at }: { entries: number; at: Date | undefined },
  now: Date,
): CheckResult {
  if (entries === 0) return ok('no keys, orders or blocks to back up')
  const fix = 'mayfly backup /elsewhere/mayfly.db, daily by cron or a systemd timer'
  if (at === undefined)
    return warning(`${entries} keys, orders and blocks were never backed up`, fix)
  const hours = Math.floor((now.getTime() - at.getTime()) / HOUR_MS)
  const age = hours < 48 ? `${hours} hours` : `${Math.floor(hours / 24)} days`
  if (hours > MAX_BACKUP_HOURS) return warning(`the last backup is ${age} old`, fix)
  return ok(`the last backup is ${age} old`)
}
