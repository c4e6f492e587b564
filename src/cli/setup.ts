import { isIP } from 'node:net'
import type { Command } from 'commander'
import { type Host, parseAddress, parseHost } from '../core/address.ts'
import { isRelated, zoneLines } from '../core/checks/dns-records.ts'
import { mailServer, senderDomain, spfMechanism } from '../core/checks/sender-rules.ts'
import { CommandError, type Print } from './output.ts'
import { type Ask, openPrompt } from './prompt.ts'
import { isPlaceholder, nextSteps, takesPort25 } from './setup-steps.ts'

/** What is known about the machine and its settings before anything is asked. */
export interface Machine {
  /** The file that the settings are written to. */
  file: string
  /** How to run this program. */
  command: string
  isRoot: boolean
  /** Public addresses of its network interfaces; none behind NAT. */
  addresses: readonly string[]
  /** Host names that DNS has for these addresses. */
  reverseNames: readonly string[]
  /** Whether DNS answers. */
  hasDns: boolean
  smtpPort: number
  /** The file or the environment sets the SMTP port. */
  isSmtpPortGiven: boolean
  httpPort: number
  /** Another program uses it. */
  isHttpPortTaken: boolean
  /** Whether port 25 can be listened on: free, in use by this service or by another program, or not permitted. */
  port25: 'free' | 'this service' | 'in use' | 'not permitted'
  /** The service answers on its SMTP port. */
  isRunning: boolean
  /** The settings that the file has; the values below are from it, or else from the environment. */
  namesInFile: readonly string[]
  domains: readonly string[]
  hostname: string
  /** Otherwise it is the name of the machine. */
  isHostnameGiven: boolean
  baseUrl: string
  trustProxy: readonly string[]
  /** How receipts are sent; the URL is empty if they are not. */
  mailOut: { url: string; from: string }
  /** A policy is served; its mode is kept. */
  hasMtaSts: boolean
  hasAdminToken: boolean
  /** What the default plans promise to buyers; empty if others are configured. */
  supportTexts: readonly string[]
}

interface WrittenSetting {
  name: string
  value: string
  before: string | undefined
  /** The environment sets another value, which takes precedence. */
  overridden: boolean
}

export interface SetupActions {
  inspectMachine(file: string | undefined): Promise<Machine>
  /** What writing these settings would change. Throws what the service would refuse, as writing does. */
  previewSettings(file: string, settings: Readonly<Record<string, string>>): WrittenSetting[]
  writeSettings(file: string, settings: Readonly<Record<string, string>>): void
  /** Creates a file with a random token beside the settings, unless there is one; returns its path. */
  createAdminToken(file: string): string
}

interface SetupOptions {
  domain?: string[]
  hostname?: string
  url?: string
  email?: string
  address?: string[]
  file?: string
  mtaSts?: boolean
  tlsRpt?: boolean
  dryRun?: boolean
}

export function addSetupCommand(
  mayfly: Command,
  open: () => Promise<SetupActions>,
  print: Print,
): void {
  mayfly
    .command('setup')
    .description('Write the settings for your domain and print the DNS records to publish')
    .option('--domain <name...>', 'mail domains')
    .option('--hostname <name>', 'host name of this machine, the target of the MX records')
    .option('--url <url>', 'public URL of the web page')
    .option('--email <address>', 'where other mail servers send their reports')
    .option('--address <ip...>', 'public addresses of this machine (default: detected)')
    .option('--mta-sts', 'serve an MTA-STS policy, and print its records')
    .option('--tls-rpt', 'also print the TLS reporting record')
    .option('--file <path>', 'settings file: JSON (.json) or NAME=value lines')
    .option('--dry-run', 'write nothing')
    .action(async (options: SetupOptions) => {
      const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true
      const prompt = isTerminal ? openPrompt() : undefined
      try {
        await setUp(await open(), options, { print, ask: prompt?.ask })
      } finally {
        prompt?.close()
      }
    })
}

/** `ask` is undefined without a terminal: then the options and what was found must suffice. */
interface Dialogue {
  print: Print
  ask: Ask | undefined
}

interface Answers {
  domains: Host[]
  host: Host
  url: string
  /** Undefined: the postmaster of each domain. */
  email: string | undefined
  addresses: string[]
}

export async function setUp(
  actions: SetupActions,
  options: SetupOptions,
  { print, ask }: Dialogue,
): Promise<void> {
  const machine = await actions.inspectMachine(options.file)
  for (const line of machineLines(machine)) print(line)
  const answers = await readAnswers(machine, options, ask)
  await applySettings(actions, settingsOf(machine, answers, options), {
    machine,
    options,
    print,
    ask,
  })
  for (const line of resultLines(machine, answers, options)) print(line)
}

/** Shows what changes, and writes it; on a terminal only after a yes. */
async function applySettings(
  actions: SetupActions,
  settings: Readonly<Record<string, string>>,
  { machine, options, print, ask }: Dialogue & { machine: Machine; options: SetupOptions },
): Promise<void> {
  const { file, hasAdminToken } = machine
  const changes = actions.previewSettings(file, settings)
  print('')
  if (changes.length === 0 && hasAdminToken) return print(`${file} is up to date.`)
  print(`Settings in ${file}:`)
  for (const change of changes) print(`  ${changeText(change)}`)
  if (!hasAdminToken) print('  MAYFLY_ADMIN_TOKEN_FILE: a file with a new random token')
  if (options.dryRun) return print('Nothing was written.')
  if (ask && !/^y/i.test(await ask('Write them?', 'yes'))) {
    throw new CommandError('Nothing was written.')
  }
  const token = hasAdminToken ? {} : { MAYFLY_ADMIN_TOKEN_FILE: actions.createAdminToken(file) }
  actions.writeSettings(file, { ...settings, ...token })
}

function machineLines({ addresses, reverseNames, hasDns, port25 }: Machine): string[] {
  const names = reverseNames.length > 0 ? ` (${reverseNames.join(', ')})` : ''
  return [
    `Addresses  ${addresses.length > 0 ? `${addresses.join(', ')}${names}` : 'none public: this machine is behind NAT'}`,
    `Port 25    ${port25}`,
    `DNS        ${hasDns ? 'answers' : 'no answer: check /etc/resolv.conf or set MAYFLY_DNS'}`,
  ]
}

async function readAnswers(
  machine: Machine,
  options: SetupOptions,
  ask: Ask | undefined,
): Promise<Answers> {
  const current = machine.domains.filter((name) => !isPlaceholder(name))
  const get = async (option: string | undefined, question: string, proposal: string) =>
    option ?? (ask ? await ask(question, proposal) : proposal)
  const given = await get(options.domain?.join(','), 'Mail domain', current.join(','))
  if (given === '') {
    throw new CommandError('No domain given. Example: mayfly setup --domain box.example.org', 2)
  }
  const names = given.split(/[\s,]+/).filter((name) => name !== '')
  const added = names.map((name) => hostOption('--domain', name))
  const [first = ''] = added
  const proposedHost = proposeHost(machine, first)
  const host = hostOption(
    '--hostname',
    await get(options.hostname, 'Host name of this machine', proposedHost),
  )
  const url = urlOption(await get(options.url, 'Public URL', machine.baseUrl || `https://${first}`))
  const postmaster = `postmaster@${first}`
  const email = await get(options.email, 'Email for reports', postmaster)
  if (!parseAddress(email)) throw invalid('--email', email, 'an email address')
  const addresses = options.address ?? [...machine.addresses]
  const bad = addresses.find((ip) => isIP(ip) === 0)
  if (bad !== undefined) throw invalid('--address', bad, 'an IP address')
  const domains = [
    ...new Set([...current.map((name) => hostOption('MAYFLY_DOMAINS', name)), ...added]),
  ]
  return { domains, host, url, email: email === postmaster ? undefined : email, addresses }
}

/** The name that is set, a name of this machine if it is in our zone, else `mx.` and the domain. */
export function proposeHost(
  machine: Pick<Machine, 'hostname' | 'isHostnameGiven' | 'reverseNames'>,
  domain: string,
): string {
  const { hostname, isHostnameGiven, reverseNames } = machine
  if (isHostnameGiven && hostname.includes('.') && !isPlaceholder(hostname)) return hostname
  const names = [hostname, ...reverseNames]
  return names.find((name) => isRelated(domain, name)) ?? `mx.${domain}`
}

function hostOption(option: string, text: string): Host {
  const name = parseHost(text)
  if (name?.includes('.')) return name
  throw invalid(option, text, 'a host name')
}

function urlOption(text: string): string {
  const isPlain = /^https?:\/\/[^\s?#@]+$/.test(text)
  if (isPlain && URL.canParse(text)) return text.replace(/\/+$/, '')
  throw invalid('--url', text, 'an http(s) URL')
}

function invalid(option: string, text: string, what: string): CommandError {
  return new CommandError(`${option} ${JSON.stringify(text)} is not ${what}.`, 2)
}

/** The settings to write: what differs from the file, and what it lacks. */
function settingsOf(
  machine: Machine,
  { domains, host, url }: Answers,
  { mtaSts = false }: SetupOptions,
): Record<string, string> {
  const isProxied = url.startsWith('https:') && machine.trustProxy.length === 0
  const answers = [
    ['MAYFLY_DOMAINS', domains.join(','), machine.domains.join(',')],
    ['MAYFLY_SMTP_HOSTNAME', host, machine.hostname],
    ['MAYFLY_BASE_URL', url, machine.baseUrl],
  ] as const
  const changed = answers.filter(
    ([name, value, current]) => value !== current || !machine.namesInFile.includes(name),
  )
  return {
    ...Object.fromEntries(changed.map(([name, value]) => [name, value])),
    ...(isProxied ? { MAYFLY_TRUST_PROXY: '127.0.0.1' } : {}),
    ...(takesPort25(machine) ? { MAYFLY_SMTP_PORT: '25' } : {}),
    ...(mtaSts && !machine.hasMtaSts ? { MAYFLY_MTA_STS: 'testing' } : {}),
  }
}

function changeText({ name, value, before, overridden }: WrittenSetting): string {
  const was = before === undefined ? '' : ` (was ${before})`
  const note = overridden ? '; the environment has another value, which takes precedence' : ''
  return `${name}=${value}${was}${note}`
}

function resultLines(machine: Machine, answers: Answers, options: SetupOptions): string[] {
  const { domains, host, url, email, addresses } = answers
  const webHost = parseHost(new URL(url).hostname)
  const { mtaSts = false, tlsRpt: tlsReporting = false } = options
  const zone = zoneLines({
    ...{ domains, host, addresses, webHost, email, mtaSts, tlsReporting },
    sender: senderOf(machine, host),
    now: new Date(),
  })
  const steps = nextSteps(machine, url, mtaSts)
  return [
    '',
    'Publish these DNS records:',
    '',
    ...zone,
    '',
    'Then:',
    ...steps.map((step, index) => `  ${index + 1}. ${step}`),
    ...promiseLines(machine),
  ]
}

function senderOf({ mailOut }: Machine, host: string) {
  const domain = senderDomain(mailOut)
  if (domain === undefined) return undefined
  return { domain, mechanism: spfMechanism(domain, { server: mailServer(mailOut.url), host }) }
}

function promiseLines({ supportTexts }: Machine): string[] {
  if (supportTexts.length === 0) return []
  const texts = supportTexts.map((text) => JSON.stringify(text)).join(' and ')
  return [
    '',
    `If you sell API keys: the default plans promise ${texts}.`,
    'Keep these promises, or set MAYFLY_PLANS_FILE to your own plans (docs/keys-and-payments.md).',
  ]
}
