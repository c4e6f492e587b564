import { MIN_TOKEN_LENGTH } from '../base/id.ts'
import { isLoopback } from '../base/ip.ts'

/** How the service is reached from its own machine. */
export interface Endpoints {
  /** Without a trailing slash. */
  url: string
  smtpHost: string
  smtpPort: number
}

export function localEndpoints(listening: {
  host: string
  httpPort: number
  smtpPort: number
}): Endpoints {
  const { host, httpPort, smtpPort } = listening
  const isWildcard = host === '' || host === '::' || host === '0.0.0.0'
  const name = isWildcard ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return { url: `http://${name}:${httpPort}`, smtpHost: name, smtpPort }
}

interface Exposure {
  /** The listen address. */
  host: string
  baseUrl: string
  adminToken: string
  /** Whether senders are told to verify our certificate, and whether it is our self-signed one. */
  enforcesTls: boolean
  isSelfSigned: boolean
  /** HTTP connections: configured, and allowed by the limit on open files. */
  connections: { wanted: number; allowed: number }
}

/** Warnings about a service that is reachable from other machines, each with the setting to change. */
export function startWarnings({
  host,
  baseUrl,
  adminToken,
  enforcesTls,
  isSelfSigned,
  connections,
}: Exposure): string[] {
  const shortToken =
    adminToken !== '' &&
    adminToken.length < MIN_TOKEN_LENGTH &&
    'MAYFLY_ADMIN_TOKEN is short enough to be guessed, and opens /admin to the network: use 32 random bytes (openssl rand -base64 32)'
  if (host === 'localhost' || isLoopback(host)) {
    const isProxied = baseUrl.startsWith('https:')
    return shortToken && isProxied ? [shortToken] : []
  }
  const { wanted, allowed } = connections
  const unverifiable =
    enforcesTls &&
    isSelfSigned &&
    'senders that follow MTA-STS do not deliver to a self-signed certificate: set MAYFLY_ACME=on or MAYFLY_SMTP_TLS_CERT (docs/tls.md), or MAYFLY_MTA_STS=testing'
  const plainHttp =
    baseUrl === '' &&
    'plain HTTP is exposed to the network: set MAYFLY_BASE_URL=https://… with MAYFLY_ACME=on (docs/tls.md) or a TLS proxy in front, or set MAYFLY_HOST=127.0.0.1'
  const publicMetrics =
    adminToken === '' && '/metrics and the details of /readyz are public: set MAYFLY_ADMIN_TOKEN'
  const fewConnections =
    allowed < wanted &&
    `HTTP connections limited to ${allowed}: raise the limit on open files (ulimit -n) or lower MAYFLY_HTTP_CONNECTIONS=${wanted}`
  const warnings = [plainHttp, publicMetrics, shortToken, unverifiable, fewConnections]
  return warnings.filter((warning) => warning !== false)
}

interface BannerOptions {
  endpoints: Endpoints
  /** Public URL; empty if not configured. */
  baseUrl: string
  domains: readonly string[]
  /** Data directory, or URL of the database. */
  dataLocation: string
  /** Whether plans are sold online. */
  shop: boolean
  isTestShop: boolean
  /** How to run the CLI. */
  command: string
}

/** Printed at start: endpoints, and commands to paste for a first mail. */
export function banner({
  endpoints,
  baseUrl,
  domains,
  dataLocation,
  shop,
  isTestShop,
  command,
}: BannerOptions): string[] {
  const url = baseUrl || endpoints.url
  return [
    '',
    'Mayfly is running.',
    '',
    `  Page     ${url}`,
    `  API      ${url}/api    docs: ${url}/docs`,
    `  SMTP     ${endpoints.smtpHost}:${endpoints.smtpPort}`,
    `  Domains  ${shortList(domains)}`,
    `  Data     ${dataLocation}`,
    ...(shop ? [`  Shop     ${url}/pricing${isTestShop ? TEST_SHOP : ''}`] : []),
    '',
    `To see mail arrive, open the page or run:  ${command} inbox`,
    'Or paste these commands to create a mailbox, send it a mail and list it:',
    '',
    ...sampleCommands(endpoints).map((line) => `  ${line}`),
    '',
  ]
}

const TEST_SHOP = '    test shop: no real payments'

/** Only a POSIX shell and curl. */
function sampleCommands({ url, smtpHost, smtpPort }: Endpoints): string[] {
  return [
    `box=$(curl -s -X POST ${url}/api/create-session)`,
    `field() { echo "$box" | sed "s/.*\\"$1\\":\\"\\([^\\"]*\\).*/\\1/"; }`,
    `printf 'Subject: Hello\\r\\n\\r\\nIt works.\\r\\n' | curl -s smtp://${smtpHost}:${smtpPort} --mail-from me@sender.example --mail-rcpt "$(field email)" -T -`,
    `curl -s "${url}/api/check-mail?token=$(field token)"`,
  ]
}

function shortList(names: readonly string[]): string {
  if (names.length === 0) return 'none yet: mayfly domain add NAME'
  const shown = names.slice(0, 3).join(', ')
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown
}
