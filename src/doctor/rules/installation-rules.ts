import { type CheckResult, failure, ok, skipped, warning } from '../../base/check-result.ts'
import { MIN_TOKEN_LENGTH } from '../../base/id.ts'
import { ipRangeMatcher } from '../../base/ip.ts'
import { type LedgerState, ledgerWarning } from '../../mail/rules/ledger.ts'

export const NOT_RUNNING = 'the service is not running'
const RESTART = 'systemctl restart mayfly'

/** The settings of the environment; undefined if a program passed them. */
export type SettingsReport =
  | { count: number; changed: number; unknown: readonly string[] }
  | undefined

export function evaluateSettings(report: SettingsReport): CheckResult {
  if (!report) return skipped('passed by a program')
  const { count, changed, unknown } = report
  if (unknown.length === 0) return ok(`${count} settings, ${changed} of them set`)
  const fix = 'Correct the names or remove them. All settings: mayfly config'
  return warning(`unknown: ${unknown.join(', ')}`, fix)
}

export interface CheckedDomains {
  /** Active domains that are not examples. */
  domains: readonly string[]
  exampleDomains: readonly string[]
  /** Domains of the settings that the service has not added yet. */
  newDomains: readonly string[]
}

export function evaluateDomains(checked: CheckedDomains): CheckResult {
  const { domains, exampleDomains, newDomains } = checked
  const examples = exampleDomains.join(', ')
  const added = newDomains.join(', ')
  const restart = `Restart the service, which adds them: ${RESTART}`
  if (added !== '') return failure(`${added}: not added yet, so mail is rejected`, restart)
  const add = 'mayfly domain add YOUR.DOMAIN, or: mayfly setup'
  if (domains.length === 0) return failure(`no domain but examples: ${examples}`, add)
  const remove = exampleDomains.map((name) => `mayfly domain remove ${name}`).join('\n')
  return examples === ''
    ? ok(domains.join(', '))
    : warning(`${examples}: nobody can send mail there`, remove)
}

export interface StoreFacts {
  /** In the data directory, not at a server. */
  isFile: boolean
  isOpen: boolean
  /** Why it is not. */
  fault: string | undefined
}

export function evaluateStore({ isFile, isOpen, fault }: StoreFacts): CheckResult {
  if (isOpen) return ok(isFile ? 'mail.db' : 'PostgreSQL')
  if (fault === undefined) return skipped('created when the service starts')
  const restore =
    'If the service runs, restart it; otherwise read its log, and restore the file system or a backup'
  return isFile ? failure(fault, restore) : skipped('see postgres')
}

/** The ledger of addresses that ever belonged to a session. */
export function evaluateLedger(state: LedgerState | undefined): CheckResult {
  if (!state) return skipped('created when the service starts')
  const seen = ledgerWarning(state)
  if (seen === undefined) return ok(state.pruned ? 'empty: the pool is off' : 'complete')
  return warning(seen, 'Wait until then, or accept the risk: mayfly ledger trust')
}

export interface ClockFacts {
  /** What the system says; undefined if it does not. */
  synchronized: boolean | undefined
  /** The difference to another machine; undefined if unknown. */
  offsetMs: number | undefined
  /** That machine. */
  reference: string
}

const MAX_OFFSET_MS = 60_000

export function evaluateClock({ synchronized, offsetMs, reference }: ClockFacts): CheckResult {
  const fix = 'Synchronize the clock: timedatectl set-ntp true'
  const agrees = offsetMs === undefined ? '' : `${Math.round(offsetMs / 1_000)} s from ${reference}`
  if (Math.abs(offsetMs ?? 0) > MAX_OFFSET_MS)
    return failure(`${agrees}: sessions would expire at the wrong time`, `${fix}, here and there`)
  if (synchronized === false) return warning('the system clock is not synchronized', fix)
  const known = [synchronized ? 'synchronized' : '', agrees].filter((part) => part !== '')
  return known.length > 0 ? ok(known.join(', ')) : skipped('the system does not say')
}

const NEW_TOKEN =
  'mayfly setup creates one; or: (umask 077; openssl rand -base64 32 > admin-token), and set MAYFLY_ADMIN_TOKEN_FILE to the path of that file, which the service must be able to read'

/** `isOpen`: the running service gives metrics without it. `exposed`: how many requests had it without TLS. */
export function evaluateAdminToken(token: string, isOpen: boolean, exposed = 0): CheckResult {
  const restart = `Restart it, so that it reads its settings: ${RESTART}`
  if (token === '') return warning('not set: /metrics and details of /readyz are public', NEW_TOKEN)
  if (isOpen) return failure('the service gives /metrics without the token', restart)
  const encrypt = `Let monitors use https, or a private network, and set another token: ${NEW_TOKEN}`
  if (exposed > 0) return warning('it was sent over the Internet without TLS', encrypt)
  if (token.length >= MIN_TOKEN_LENGTH) return ok('set')
  return warning(`only ${token.length} characters: it could be guessed`, NEW_TOKEN)
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
  const trust = 'Set MAYFLY_TRUST_PROXY to the address of your proxy alone, such as 127.0.0.1'
  const wide = trustProxy.find(coversInternet)
  const forged = `MAYFLY_TRUST_PROXY=${wide}: clients can forge the address that is counted`
  if (wide !== undefined) return failure(forged, trust)
  if (!baseUrl.startsWith('https:')) return skipped('no proxy: MAYFLY_BASE_URL is not https')
  if (trustProxy.length === 0 || counted === 'untrusted local proxy')
    return failure('the proxy is not trusted: all of its clients share one rate limit', trust)
  const forward =
    'Make it send X-Forwarded-For; nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;'
  // Without a forwarded address, the proxy itself is counted, or nobody if it is on loopback and not trusted.
  if (counted === null || (counted !== undefined && ipRangeMatcher(trustProxy)(counted)))
    return failure('the proxy does not say who its clients are', forward)
  const tested = counted === undefined ? 'not tested' : `this machine counts as ${counted}`
  return ok(`trusted: ${trustProxy.join(', ')}; ${tested}`)
}

export interface TrustedSenders {
  /** MAYFLY_SMTP_RELAYS. */
  relays: readonly string[]
  /** MAYFLY_SMTP_PROXY_FROM. */
  proxyFrom: readonly string[]
}

export function evaluateRelays({ relays, proxyFrom }: TrustedSenders): CheckResult {
  const balancer = proxyFrom.find(coversInternet)
  if (balancer !== undefined) {
    const seen = `MAYFLY_SMTP_PROXY_FROM=${balancer}: every sender must send a PROXY header, and can forge its address`
    return failure(seen, 'Set MAYFLY_SMTP_PROXY_FROM to the addresses of your load balancers alone')
  }
  const relay = relays.find(coversInternet)
  if (relay !== undefined) {
    const seen = `MAYFLY_SMTP_RELAYS=${relay}: no sender has a rate limit`
    return warning(seen, 'Set MAYFLY_SMTP_RELAYS to the addresses of your relays alone')
  }
  const all = [...relays, ...proxyFrom]
  return all.length === 0 ? skipped('not used') : ok(all.join(', '))
}

/** Wider than any network of one operator. */
function coversInternet(range: string): boolean {
  const [address = '', bits = '128'] = range.split('/')
  return Number(bits) <= (address.includes(':') ? 16 : 7)
}
