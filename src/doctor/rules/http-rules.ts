import { type CheckResult, failure, ok, skipped, warning } from '../../base/check-result.ts'
import { isLoopback } from '../../base/ip.ts'
import { printable } from '../../base/text.ts'
import { NOT_RUNNING } from './installation-rules.ts'
import type { HttpResponse } from './result.ts'
import { overdueDays, SEE_ACME } from './tls-rules.ts'

export interface HttpFacts {
  port: number
  /** To /api/domains, by which a service is recognized. */
  response: HttpResponse
  /** It answers on its SMTP port. */
  isRunning: boolean
  /** Why this command cannot use the store either, which other checks report. */
  storeFault: string | undefined
}

export function evaluateHttp({ port, response, isRunning, storeFault }: HttpFacts): CheckResult {
  const restart =
    'Restart the service, and read its log. If another program uses the port, set MAYFLY_HTTP_PORT'
  if ('error' in response) {
    return isRunning ? failure(`port ${port}: ${response.error}`, restart) : skipped(NOT_RUNNING)
  }
  const { status, body } = response
  if (status === 200) return ok(`port ${port}`)
  if (storeFault !== undefined) return skipped('see store and postgres')
  if (status === 429) return skipped('too many requests from this machine')
  return failure(`port ${port}: ${status} ${printable(body)}`, restart)
}

export interface BaseUrlFacts {
  /** To /api/domains through the URL. */
  response: HttpResponse | undefined
  /** The body of the service itself. */
  local: string | undefined
  /** The service serves HTTPS itself, without a proxy. */
  servesTls?: boolean
  now: Date
}

export function evaluateBaseUrl(baseUrl: string, facts: BaseUrlFacts): CheckResult {
  const { response, local, servesTls = false } = facts
  const set =
    'Set MAYFLY_BASE_URL=https://… to the address of your reverse proxy; without one: mayfly setup --acme'
  if (baseUrl === '')
    return warning('MAYFLY_BASE_URL is not set: links follow the Host header', set)
  const { hostname, host, protocol } = new URL(baseUrl)
  const isLocal = hostname === 'localhost' || isLoopback(hostname.replace(/^\[|\]$/g, ''))
  if (response && 'error' in response) return unreached(baseUrl, response, servesTls)
  const target = response && redirectTarget(`${baseUrl}/api/domains`, response)
  if (target) return redirected(baseUrl, target, servesTls)
  const encrypt = `mayfly setup --acme --url https://${hostname}, or put a proxy with TLS in front and set MAYFLY_BASE_URL=https://${host}`
  if (protocol === 'http:' && !isLocal) return warning(`${baseUrl} is not encrypted`, encrypt)
  if (response && (response.status !== 200 || response.body !== local))
    return failure(
      `${baseUrl}/api/domains (status ${response.status}) is not this service`,
      servesTls ? leadHere(hostname) : forwardFix(hostname, response.status),
    )
  return expiryWarning(hostname, facts) ?? ok(response ? `${baseUrl} is this service` : baseUrl)
}

/** `response` is the beginning of a stream through the URL, which stays open. */
export function evaluateStream(baseUrl: string, response: HttpResponse): CheckResult {
  const flush =
    'Make the proxy pass on responses as they come, without buffering or compressing text/event-stream (nginx: proxy_buffering off; gzip off; Apache: ProxyPass … flushpackets=on)'
  if ('error' in response)
    return warning(`${baseUrl}/api/events: ${response.error}; the page polls instead`, flush)
  if (response.status !== 200) return skipped('see base-url')
  return ok('new mail is shown at once')
}

const leadHere = (hostname: string) =>
  `Make ${hostname} and its port 443 lead to this service (MAYFLY_HTTPS_PORT), without another server between them`

function forwardFix(hostname: string, status: number): string {
  const forward = `Make the proxy forward ${hostname} to the HTTP port of this service, with its path`
  if (status === 401 || status === 403)
    return `Let requests pass without a password or an address filter of the proxy: clients have tokens and keys. ${forward}`
  // A gateway that gets no response.
  return status >= 502 && status <= 504
    ? `${forward} (MAYFLY_HTTP_PORT, http without TLS), and see its log`
    : forward
}

function unreached(
  baseUrl: string,
  { error, cause }: Extract<HttpResponse, { error: string }>,
  servesTls: boolean,
): CheckResult {
  const seen = `${baseUrl}: ${error}`
  const valid = `Install a valid certificate for ${new URL(baseUrl).hostname}, with its intermediate certificates, in the proxy`
  const retry = `Many networks cannot reach their own address. Try it from elsewhere: curl -i ${baseUrl}/livez`
  if (cause === 'certificate') return failure(seen, servesTls ? SEE_ACME : valid)
  return warning(seen, retry)
}

function expiryWarning(
  hostname: string,
  { response, servesTls, now }: BaseUrlFacts,
): CheckResult | undefined {
  if (!response || 'error' in response) return undefined
  const { validFrom: notBefore, validTo: notAfter } = response
  const days = notBefore && notAfter && overdueDays({ notBefore, notAfter }, now)
  if (days === undefined) return undefined
  const renew =
    'Renew it in the proxy, and find out why that did not happen: its log, or certbot renew --dry-run'
  const fix = servesTls ? SEE_ACME : renew
  return warning(`the certificate of ${hostname} expires in ${days} days`, fix)
}

function redirected(baseUrl: string, target: URL, servesTls: boolean): CheckResult {
  const isUpgrade = target.protocol === 'https:' && baseUrl.startsWith('http:')
  if (isUpgrade)
    return warning(`${baseUrl} is not encrypted`, `Set MAYFLY_BASE_URL=${target.origin}`)
  const seen = `${baseUrl}/api/domains redirects to ${target.href}`
  const { origin, hostname } = new URL(baseUrl)
  if (servesTls) return failure(seen, leadHere(hostname))
  const move = `Set MAYFLY_BASE_URL=${target.origin}, or make the proxy serve ${baseUrl} without a redirect`
  return failure(seen, target.origin === origin ? NO_REDIRECT : move)
}

const NO_REDIRECT =
  'Make the proxy forward requests instead of redirecting them to itself. In front of it, a CDN that connects by HTTP must use HTTPS (Cloudflare: SSL/TLS mode Full (strict) instead of Flexible)'

function redirectTarget(from: string, response: HttpResponse): URL | undefined {
  if ('error' in response || response.location === undefined) return undefined
  return URL.parse(response.location, from) ?? undefined
}
