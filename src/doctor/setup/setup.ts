import { isIPv4 } from 'node:net'
import type { Command } from 'commander'
import { printable } from '../../base/text.ts'
import { CommandError, type Print } from '../../cli/output.ts'
import { openPrompt } from '../../cli/prompt.ts'
import { zoneLines } from '../rules/dns-records.ts'
import { senderOf } from '../rules/sender-rules.ts'
import {
  type Answers,
  type Dialogue,
  hasInstallation,
  publicHost,
  readAnswers,
  type SetupOptions,
} from './answers.ts'
import type { Machine, Port, SetupActions, SetupDeps } from './machine.ts'
import { nextSteps, takesPort25 } from './steps.ts'

export function addSetupCommand(
  mayfly: Command,
  context: Pick<SetupDeps, 'command' | 'readConfig'>,
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
    .option('--acme', "obtain certificates from Let's Encrypt and serve HTTPS, without a proxy")
    .option('--no-acme', 'leave HTTPS to a proxy')
    .option('--tls-rpt', 'also print the TLS reporting record')
    .option('--file <path>', 'settings file: JSON (.json) or NAME=value lines')
    .option('--dry-run', 'write nothing')
    .action(async (options: SetupOptions) => {
      const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true
      const prompt = isTerminal ? openPrompt() : undefined
      try {
        const { setupActions } = await import('./machine.ts')
        const actions = setupActions({ ...context, cwd: process.cwd(), env: process.env })
        await setUp(actions, options, { print, ask: prompt?.ask })
      } finally {
        prompt?.close()
      }
    })
}

export async function setUp(
  actions: SetupActions,
  options: SetupOptions,
  { print, ask }: Dialogue,
): Promise<void> {
  const machine = await actions.inspectMachine(options.file)
  for (const line of machineLines(machine)) print(line)
  const answers = await readAnswers(machine, options, { print, ask })
  const settings = settingsOf(machine, answers, { ...options, isTerminal: ask !== undefined })
  await applySettings(actions, settings, { machine, options, print, ask })
  for (const line of resultLines(machine, answers, { ...options, settings })) print(line)
}

/** Shows what changes, and writes it; on a terminal only after a yes. */
async function applySettings(
  actions: SetupActions,
  settings: Readonly<Record<string, string>>,
  { machine, options, print, ask }: Dialogue & { machine: Machine; options: SetupOptions },
): Promise<void> {
  const { file, hasAdminToken } = machine
  const { changes } = actions.editFile(file, settings)
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
  actions.editFile(file, { ...settings, ...token }).write()
}

function machineLines(machine: Machine): string[] {
  const { httpPort, hasDns } = machine
  const ports = new Map([
    [25, machine.port25],
    [80, machine.port80],
    [443, machine.port443],
    [httpPort, machine.portHttp],
  ])
  return [
    `Addresses  ${addressText(machine)}`,
    ...[...ports].map(([port, state]) => `Port ${String(port).padEnd(5)} ${portText(state)}`),
    `DNS        ${hasDns ? 'answers' : 'no answer: check /etc/resolv.conf or set MAYFLY_DNS'}`,
  ]
}

function addressText({ addresses, reverseNames, hasNetwork }: Machine): string {
  if (!hasNetwork && addresses.length === 0) return 'none: this machine has no network'
  if (addresses.length === 0) return 'none public: this machine is behind NAT (use --address)'
  const names = reverseNames.length > 0 ? ` (${printable(reverseNames.join(', '))})` : ''
  const note = addresses.some(isIPv4)
    ? ''
    : '; no public IPv4 address: this machine is behind NAT (use --address)'
  return `${addresses.join(', ')}${names}${note}`
}

const portText = ({ state, seen }: Port) => (seen === '' ? state : `${state}: ${printable(seen)}`)

/** The settings to write: what was asked for, and for a new installation what the file lacks. */
function settingsOf(
  machine: Machine,
  { domains, host, url, acmeEmail }: Answers,
  { mtaSts = false, hostname, url: givenUrl, isTerminal }: SetupOptions & { isTerminal: boolean },
): Record<string, string> {
  const isNew = !hasInstallation(machine)
  const answers = [
    ['MAYFLY_DOMAINS', domains.join(','), machine.domains.join(','), true],
    ['MAYFLY_SMTP_HOSTNAME', host, machine.hostname, isNew || hostname !== undefined],
    ['MAYFLY_BASE_URL', url, machine.baseUrl, isNew || givenUrl !== undefined],
  ] as const
  const changed = answers.filter(([name, value, current, isWanted]) =>
    value === current ? isWanted && !machine.namesInFile.includes(name) : isWanted || isTerminal,
  )
  const isUrlWanted = isNew || givenUrl !== undefined || url !== machine.baseUrl
  const hasProxy = acmeEmail === undefined && !machine.hasAcme && url.startsWith('https:')
  const isProxied = isUrlWanted && hasProxy && machine.trustProxy.length === 0
  return {
    ...Object.fromEntries(changed.map(([name, value]) => [name, value])),
    ...(isProxied ? { MAYFLY_TRUST_PROXY: '127.0.0.1' } : {}),
    ...(takesPort25(machine) ? { MAYFLY_SMTP_PORT: '25' } : {}),
    ...(mtaSts && !machine.hasMtaSts ? { MAYFLY_MTA_STS: 'testing' } : {}),
    ...acmeSettings(machine, acmeEmail),
  }
}

/** The CA connects to port 80 or 443; the service listens on the latter by default. */
function acmeSettings(machine: Machine, email: string | undefined): Record<string, string> {
  if (email === undefined || machine.hasAcme) return {}
  const port: Record<string, string> = machine.isHttpPortGiven ? {} : { MAYFLY_HTTP_PORT: '80' }
  return { MAYFLY_ACME: 'on', MAYFLY_ACME_EMAIL: email, ...port }
}

type Change = ReturnType<SetupActions['editFile']>['changes'][number]

function changeText({ name, value, before, overridden }: Change): string {
  const was = before === undefined ? '' : ` (was ${before})`
  const note = overridden ? '; the environment has another value, which takes precedence' : ''
  return printable(`${name}=${value}${was}${note}`)
}

function resultLines(
  machine: Machine,
  answers: Answers,
  options: SetupOptions & { settings: Readonly<Record<string, string>> },
): string[] {
  const { domains, host, url, email, addresses } = answers
  const { tlsRpt: tlsReporting = false } = options
  const mtaSts = options.mtaSts === true || machine.hasMtaSts
  const webHost = url === '' ? undefined : publicHost(new URL(url).hostname)
  const zone = zoneLines({
    ...{ domains, host, addresses, webHost, email, mtaSts, tlsReporting },
    sender: senderOf(machine.mailOut, host),
    now: new Date(),
  })
  const steps = nextSteps(machine, answers, { mtaSts, settings: options.settings })
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

function promiseLines({ supportTexts }: Machine): string[] {
  if (supportTexts.length === 0) return []
  const texts = supportTexts.map((text) => JSON.stringify(text)).join(' and ')
  return [
    '',
    `If you sell API keys: the default plans promise ${texts}.`,
    'Keep these promises, or set MAYFLY_PLANS_FILE to your own plans (docs/keys-and-payments.md).',
  ]
}
