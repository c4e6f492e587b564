import { isLoopback } from '../core/ip.ts'

/** Where a service is reached from the machine it runs on. */
export interface Whereabouts {
  /** Without a slash at the end. */
  url: string
  smtpHost: string
  smtpPort: number
}

/** From the address listened on to one that a program here can connect to. */
export function whereabouts(listening: {
  host: string
  httpPort: number
  smtpPort: number
}): Whereabouts {
  const { host, httpPort, smtpPort } = listening
  const everywhere = host === '' || host === '::' || host === '0.0.0.0'
  const name = everywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return { url: `http://${name}:${httpPort}`, smtpHost: name, smtpPort }
}

interface ExposureFacts {
  /** The address listened on. */
  host: string
  baseUrl: string
  hasAdminToken: boolean
  /** HTTP connections: how many were asked for, and how many the limit of open files allows. */
  connections: { wanted: number; allowed: number }
}

/** What is dangerous on a service that others can reach, one line each, with the setting to change. */
export function startWarnings({
  host,
  baseUrl,
  hasAdminToken,
  connections,
}: ExposureFacts): string[] {
  if (host === 'localhost' || isLoopback(host)) return []
  const { wanted, allowed } = connections
  return [
    ...(baseUrl === ''
      ? [
          'plain HTTP is open to the network: put a TLS proxy in front and set MAYFLY_BASE_URL=https://…, or MAYFLY_HOST=127.0.0.1 for this machine only',
        ]
      : []),
    ...(hasAdminToken
      ? []
      : ['/metrics and the details of /readyz are open to everyone: set MAYFLY_ADMIN_TOKEN']),
    ...(allowed < wanted
      ? [
          `at most ${allowed} HTTP connections: raise the limit of open files (ulimit -n) or lower MAYFLY_HTTP_CONNECTIONS=${wanted}`,
        ]
      : []),
  ]
}

interface BannerFacts {
  here: Whereabouts
  /** How it is reached from outside, where that is known. */
  baseUrl: string
  domains: readonly string[]
  /** The folder that holds everything. */
  kept: string
  /** How plans are sold. */
  payments: string
}

/** What a person sees first: where things are, and a first mail to paste. */
export function banner({ here, baseUrl, domains, kept, payments }: BannerFacts): string[] {
  const url = baseUrl || here.url
  return [
    '',
    'Mayfly is up.',
    '',
    `  Page     ${url}`,
    `  API      ${url}/api    docs: ${url}/docs`,
    `  SMTP     ${here.smtpHost}:${here.smtpPort}`,
    `  Domains  ${shortList(domains)}`,
    `  Data     ${kept}`,
    ...(payments === 'manual' ? [] : [`  Shop     ${url}/pricing${SHOP_NOTES[payments] ?? ''}`]),
    '',
    'See mail arrive:  open the page, or  npm run --silent mayfly -- inbox',
    'Or paste this: it makes a mailbox, sends it a mail and lists it.',
    '',
    ...firstMail(here).map((line) => `  ${line}`),
    '',
  ]
}

const SHOP_NOTES: Record<string, string> = { fake: '    a test shop: no money moves' }

/** Nothing but a POSIX shell and curl. */
function firstMail({ url, smtpHost, smtpPort }: Whereabouts): string[] {
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
