import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { connect, isIPv6 } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { isExampleName, parseAddress, withoutWildcard } from '../../base/address.ts'
import { ipv6Groups, isLoopback, isPrivateIp, localAddress } from '../../base/ip.ts'
import { freePort, listenHost, machineAddresses } from '../../base/network.ts'
import { hasErrorCode, toError } from '../../base/problem.ts'
import { editSettings, writeLike } from '../../base/settings/edit-file.ts'
import {
  isJson,
  loadSettings,
  readIfExists,
  type SettingSource,
  settingNames,
  settingsOfFile,
} from '../../base/settings/settings.ts'
import { requireTrusted } from '../../base/settings/trusted-file.ts'
import { connectSmtp } from '../../base/smtp-client.ts'
import { localEndpoints } from '../../cli/banner.ts'
import { PLANS, type Plan } from '../../shared/plan.ts'
import type { CheckedSettings } from '../facts.ts'
import { openDnsProbe } from '../probes/dns.ts'
import { openHttpProbe } from '../probes/http.ts'
import { tagsOf } from '../rules/dns-rules.ts'
import { recordsOf } from '../rules/result.ts'

/** The part of the configuration that setup looks at. */
interface SetupConfig extends CheckedSettings {
  store: string
  backup: { folder: string }
  plans: readonly Plan[]
}

export interface SetupDeps {
  /** How to run this program. */
  command: string
  cwd: string
  env: SettingSource['env']
  /** Throws what the service would refuse. */
  readConfig(source: SettingSource): {
    config: SetupConfig
    settings: readonly { name: string; origin: string }[]
  }
}

const DEFAULT_FILE = 'mayfly.config.json'
const ANSWER_MS = 5_000

export type SetupActions = ReturnType<typeof setupActions>

/** What is known about the machine and its settings before anything is asked. */
export type Machine = Awaited<ReturnType<SetupActions['inspectMachine']>>

/** What `mayfly setup` looks at and writes. */
export function setupActions({ command, cwd, env, readConfig }: SetupDeps) {
  const readWith = (file: string, text: string) => {
    const source = settingsOfFile(file, text, env)
    const beside = isJson(file) ? source.file : loadSettings(cwd, {}, requireTrusted).file
    return readConfig({ ...source, file: beside })
  }
  return {
    async inspectMachine(given = DEFAULT_FILE) {
      const file = resolve(cwd, given)
      requireTrusted(file)
      const text = readIfExists(file) ?? ''
      const stats = statSync(file, { throwIfNoEntry: false })
      const isRoot = process.getuid?.() === 0
      const { config, settings } = readWith(file, text)
      const isGiven = (wanted: string) =>
        settings.some(({ name, origin }) => name === wanted && origin !== 'default')
      return {
        /** The file that the settings are written to. */
        file,
        command,
        /** The settings that the file has; the others are from the environment or defaults. */
        namesInFile: settingNames(file, text),
        isRoot,
        /** The file belongs to root and its group, or will, and so would a token beside it. */
        isFileOfRoot: stats ? stats.uid === 0 && stats.gid === 0 : isRoot,
        isHostnameGiven: isGiven('MAYFLY_SMTP_HOSTNAME'),
        isSmtpPortGiven: isGiven('MAYFLY_SMTP_PORT'),
        isHttpPortGiven: isGiven('MAYFLY_HTTP_PORT'),
        isHttpsPortGiven: isGiven('MAYFLY_HTTPS_PORT'),
        ...(await inspectMachine(config)),
      }
    },
    /** What writing these settings changes, and how to do it. Throws what the service would refuse. */
    editFile(file: string, wanted: Readonly<Record<string, string>>) {
      const { changes, edited } = editSettings(file, readIfExists(file) ?? '', wanted)
      readWith(file, edited)
      return {
        changes: changes.map((change) => {
          const given = env[change.name] ?? ''
          /** The environment sets another value, which takes precedence. */
          const overridden = given !== '' && given !== change.value && given !== change.before
          return { ...change, overridden }
        }),
        write: () => writeLike(file, file, edited),
      }
    },
    /** Creates a file with a random token beside the settings, unless there is one; returns its path. */
    createAdminToken(file: string): string {
      const path = join(dirname(file), 'admin-token')
      const token = readIfExists(path)?.trim() || randomBytes(32).toString('base64')
      writeLike(file, path, `${token}\n`)
      return path
    },
  }
}

async function inspectMachine(config: SetupConfig) {
  const { domains, smtp, http, plans } = config
  const dns = openDnsProbe(config.senderChecks.dns)
  const all = machineAddresses()
  const isTemporary = temporaryAddresses(readIfExists('/proc/net/if_inet6') ?? '')
  const addresses = all.filter((ip) => !isPrivateIp(ip) && !isTemporary(ip))
  const [reverse, dmarc, known, port25, smtpPort, portHttp, port80, port443] = await Promise.all([
    Promise.all(addresses.map((ip) => dns.ptr(ip))),
    dns.txt(`_dmarc.${withoutWildcard(domains[0] ?? '')}`),
    dns.a('example.org'),
    smtpPortState(config, 25),
    smtpPortState(config, smtp.port),
    portState(config.host, http.port),
    portState(config.host, 80),
    portState(config.host, 443),
  ])
  const isRunning = [port25, smtpPort].some(({ state }) => state === 'this service')
  return {
    /** Public addresses of its network interfaces; none behind NAT. */
    addresses,
    /** Has addresses besides those of the loopback interface. */
    hasNetwork: !all.every(isLoopback),
    /** Host names that DNS has for these addresses. */
    reverseNames: [...new Set(reverse.flatMap(recordsOf))],
    hasDns: !('error' in known),
    ...{ smtpPort: smtp.port, httpPort: http.port, port25, portHttp, port80, port443, isRunning },
    /** It has domains besides examples. They may be in its store only (`mayfly domain add`). */
    isInUse: isRunning && !(await servesExamples(config)),
    ...{ domains, hostname: smtp.hostname, mailOut: config.mailOut },
    ...{ baseUrl: http.baseUrl, trustProxy: http.trustProxy },
    /** Where DNS sends the reports about the first domain. */
    reportEmail: reportEmail(recordsOf(dmarc)),
    /** A policy is served; its mode is kept. */
    hasMtaSts: http.mtaSts !== 'off',
    hasAcme: config.acme.on,
    hasAdminToken: config.adminToken !== '',
    /** By itself, or by other means: that of PostgreSQL is not ours. */
    hasBackup: config.backup.folder !== '' || config.store !== 'sqlite:',
    /** What the default plans promise to buyers; empty if others are configured. */
    supportTexts: plans === PLANS ? plans.map(({ support }) => support) : [],
  }
}

/** Whether the running service has no domains but examples, as before the first setup. */
async function servesExamples({ host, http, smtp, senderChecks }: SetupConfig): Promise<boolean> {
  try {
    const { url } = localEndpoints({ host, httpPort: http.port, smtpPort: smtp.port })
    const get = openHttpProbe(openDnsProbe(senderChecks.dns))
    const signal = AbortSignal.timeout(ANSWER_MS)
    const response = await get(`${url}/api/domains`, { signal })
    if ('error' in response) return false
    const { domains } = JSON.parse(response.body) as { domains: { domain: string }[] }
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

// IFA_F_TEMPORARY and IFA_F_DEPRECATED of linux/if_addr.h
const TEMPORARY = 0x01 | 0x20

/** Which IPv6 addresses change by themselves (RFC 8981), by `/proc/net/if_inet6`. */
export function temporaryAddresses(table: string): (ip: string) => boolean {
  const lines = table.split('\n').map((line) => line.trim().split(/\s+/))
  const found = lines.filter(([, , , , flags = '0']) => Number.parseInt(flags, 16) & TEMPORARY)
  const digits = new Set(found.map(([address]) => address))
  const fourDigits = (group: number) => group.toString(16).padStart(4, '0')
  return (ip) => isIPv6(ip) && digits.has(ipv6Groups(ip).map(fourDigits).join(''))
}

/** Whether the service can listen on a port, and what does now. */
export interface Port {
  state: 'free' | 'this service' | 'in use' | 'not permitted' | 'unusable'
  /** The greeting of the server there, or the error. */
  seen: string
}

/** The state of a port for SMTP: what listens there is asked for its greeting. */
export async function smtpPortState({ host, smtp }: SetupConfig, port: number): Promise<Port> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS)
    const proxyFrom = port === smtp.port ? smtp.proxyFrom : []
    const client = await connectSmtp({ host: localAddress(host), port, signal, proxyFrom })
    client.close()
    const [seen = ''] = client.greeting.text.split('\n')
    const isOurs = /^220 \S+ ESMTP ready$/.test(seen)
    return isOurs ? { state: 'this service', seen: '' } : { state: 'in use', seen }
  } catch {
    return await portState(host, port)
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
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isOpen
}
