import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  lstatSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, isIPv6 } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { isExampleName, parseAddress } from '../base/address.ts'
import { ipv6Groups } from '../base/ip.ts'
import { hasErrorCode, toError } from '../base/problem.ts'
import { editSettings, settingChanges } from '../base/settings/edit-file.ts'
import {
  isJson,
  loadSettings,
  type SettingSource,
  settingNames,
  settingsOfFile,
} from '../base/settings/settings.ts'
import { requireTrusted } from '../base/settings/trusted-file.ts'
import type { DnsProbe } from '../doctor/checks/context.ts'
import { greetedName, localAddress, localHttpUrl } from '../doctor/checks/facts.ts'
import { openDnsProbe } from '../doctor/probes/dns.ts'
import { openHttpProbe } from '../doctor/probes/http.ts'
import { openSmtpProbe } from '../doctor/probes/smtp.ts'
import { isPrivateIp, tagsOf } from '../doctor/rules/dns-rules.ts'
import { recordsOf } from '../doctor/rules/result.ts'
import type { Port, SetupActions } from '../doctor/setup/setup.ts'
import { PLANS } from '../shared/plan.ts'
import { greeting as ownGreeting } from '../smtp/state.ts'
import { type Config, readConfig } from './config.ts'
import { machineAddresses } from './probes/machine.ts'
import { freePort, listenHost } from './system.ts'

const DEFAULT_FILE = 'mayfly.config.json'
const ANSWER_MS = 5_000

/** What `mayfly setup` looks at and writes. */
export function setupActions({
  command,
  cwd,
  env,
}: {
  command: string
  cwd: string
  env: SettingSource['env']
}): SetupActions {
  const readWith = (file: string, text: string) => {
    const source = settingsOfFile(file, text, env)
    return readConfig(
      isJson(file) ? source : { ...source, file: loadSettings(cwd, {}, requireTrusted).file },
    )
  }
  /** The text of the file with these settings, if the service would start with it. */
  const edit = (file: string, settings: Readonly<Record<string, string>>) => {
    const text = readText(file)
    const changes = settingChanges(file, text, settings)
    const edited = editSettings(file, text, changes)
    readWith(file, edited)
    return { changes, edited }
  }
  return {
    inspectMachine: async (given = DEFAULT_FILE) => {
      const file = resolve(cwd, given)
      requireTrusted(file)
      const text = readText(file)
      const stats = statSync(file, { throwIfNoEntry: false })
      const isRoot = process.getuid?.() === 0
      const { config, settings } = readWith(file, text)
      const isGiven = (wanted: string) =>
        settings.some(({ name, origin }) => name === wanted && origin !== 'default')
      return {
        file,
        command,
        namesInFile: settingNames(file, text),
        isRoot,
        isFileOfRoot: stats ? stats.uid === 0 && stats.gid === 0 : isRoot,
        isHostnameGiven: isGiven('MAYFLY_SMTP_HOSTNAME'),
        isSmtpPortGiven: isGiven('MAYFLY_SMTP_PORT'),
        ...(await inspectMachine(config)),
      }
    },
    previewSettings(file, settings) {
      return edit(file, settings).changes.map(({ name, value, before }) => {
        const given = env[name] ?? ''
        const overridden = given !== '' && given !== value && given !== before
        return { name, value, before, overridden }
      })
    },
    writeSettings: (file, settings) => writeLike(file, file, edit(file, settings).edited),
    createAdminToken(file) {
      const path = join(dirname(file), 'admin-token')
      const token = readText(path).trim() || randomBytes(32).toString('base64')
      writeLike(file, path, `${token}\n`)
      return path
    },
  }
}

async function inspectMachine(config: Config) {
  const { domains, smtp, http, adminToken, plans } = config
  const dns = openDnsProbe(config.senderChecks.dns)
  const all = machineAddresses()
  const isTemporary = temporaryAddresses(readText('/proc/net/if_inet6'))
  const addresses = all.filter((ip) => !isPrivateIp(ip) && !isTemporary(ip))
  const [reverse, dmarc, known, port25, smtpPort, portHttp, port443] = await Promise.all([
    Promise.all(addresses.map((ip) => dns.ptr(ip))),
    dns.txt(`_dmarc.${domains[0]}`),
    dns.a('example.org'),
    smtpPortState(config, 25),
    smtpPortState(config, smtp.port),
    portState(config.host, http.port),
    portState(config.host, 443),
  ])
  const isRunning = [port25, smtpPort].some(({ state }) => state === 'this service')
  return {
    addresses,
    hasNetwork: all.some((ip) => !isLoopback(ip)),
    reverseNames: [...new Set(reverse.flatMap(recordsOf))],
    hasDns: !('error' in known),
    smtpPort: smtp.port,
    httpPort: http.port,
    port25,
    portHttp,
    port443,
    isRunning,
    isInUse: isRunning && !(await servesExamples(config, dns)),
    domains,
    hostname: smtp.hostname,
    baseUrl: http.baseUrl,
    trustProxy: http.trustProxy,
    mailOut: config.mailOut,
    reportEmail: reportEmail(recordsOf(dmarc)),
    hasMtaSts: http.mtaSts !== 'off',
    hasAdminToken: adminToken !== '',
    supportTexts: plans === PLANS ? plans.map(({ support }) => support) : [],
  }
}

/** Whether the running service has no domains but examples, as before the first setup. */
async function servesExamples(config: Config, dns: DnsProbe): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS)
    const { body } = await openHttpProbe(dns)(`${localHttpUrl(config)}/api/domains`, { signal })
    const { domains } = JSON.parse(body) as { domains: { domain: string }[] }
    return domains.length > 0 && domains.every(({ domain }) => isExampleName(domain))
  } catch {
    return false
  }
}

/** The address that DMARC records send reports to, if it is one that we would accept. */
export function reportEmail(records: readonly string[]): string | undefined {
  const uris = records.map((record) => tagsOf(record).get('rua') ?? '')
  const found = uris.map((uri) => /^mailto:([^,!\s]+)/i.exec(uri)?.[1])
  return found.find((email) => email !== undefined && parseAddress(email))
}

const isLoopback = (ip: string) => ip === '::1' || ip.startsWith('127.')

// IFA_F_TEMPORARY and IFA_F_DEPRECATED of linux/if_addr.h
const TEMPORARY = 0x01 | 0x20

/** Which IPv6 addresses change by themselves (RFC 8981), by `/proc/net/if_inet6`. */
export function temporaryAddresses(table: string): (ip: string) => boolean {
  const lines = table.split('\n').map((line) => line.trim().split(/\s+/))
  const found = lines.filter(([, , , , flags = '0']) => Number.parseInt(flags, 16) & TEMPORARY)
  const digits = new Set(found.map(([address]) => address))
  return (ip) => isIPv6(ip) && digits.has(ipv6Groups(ip).map(fourDigits).join(''))
}

const fourDigits = (group: number) => group.toString(16).padStart(4, '0')

/** The state of a port for SMTP: what listens there is asked for its greeting. */
export async function smtpPortState(config: Config, port: number): Promise<Port> {
  const greeting = await greetingOn(config, port)
  if (greeting === undefined) return await portState(config.host, port)
  const isOurs = ownGreeting(greetedName(greeting)).trim() === greeting
  return isOurs ? { state: 'this service', seen: '' } : { state: 'in use', seen: greeting }
}

/** The first line by which a mail server on this port greets; undefined if none answers. */
async function greetingOn({ host, smtp }: Config, port: number): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS)
    const probe = await openSmtpProbe(smtp)(localAddress(host), port, signal)
    probe.close()
    return probe.greeting.text.split('\n')[0]
  } catch {
    return undefined
  }
}

async function portState(host: string, port: number): Promise<Port> {
  // First, because a port below 1024 is not permitted to most users, also if it is in use.
  if (await canConnect(localAddress(host), port)) return { state: 'in use', seen: '' }
  try {
    await freePort(await listenHost(host), port)
    return { state: 'free', seen: '' }
  } catch (error) {
    if (hasErrorCode(error, 'EADDRINUSE')) return { state: 'in use', seen: '' }
    if (hasErrorCode(error, 'EACCES')) return { state: 'not permitted', seen: '' }
    return { state: 'unusable', seen: toError(error).message }
  }
}

async function canConnect(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port, signal: AbortSignal.timeout(ANSWER_MS) })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return ''
    throw error
  }
}

/** Replaces a file as a whole, readable by those who may read the settings: only the owner if there are none yet. */
function writeLike(settings: string, path: string, text: string): void {
  const like = statSync(settings, { throwIfNoEntry: false })
  // A symbolic link stays one.
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  const target = isLink ? realpathSync(path) : path
  const draft = `${target}.${randomBytes(4).toString('hex')}`
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    if (like) {
      const { uid, gid } = statSync(draft)
      if (uid !== like.uid || gid !== like.gid) chownSync(draft, like.uid, like.gid)
      chmodSync(draft, path === settings ? like.mode & 0o777 : like.mode & 0o640)
    }
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}
