import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Machine, SetupActions } from '../cli/setup.ts'
import { type Config, readConfig } from '../config/config.ts'
import { editSettings, settingChanges } from '../config/edit-file.ts'
import {
  isJson,
  loadSettings,
  type SettingSource,
  settingNames,
  settingsOfFile,
} from '../config/settings.ts'
import { isPrivateIp, sameName } from '../core/checks/dns-rules.ts'
import { recordsOf } from '../core/checks/result.ts'
import { PLANS } from '../core/plan.ts'
import { hasErrorCode } from '../core/problem.ts'
import { greetedName, localAddress } from '../service/checks/facts.ts'
import { openDnsProbe } from './probes/dns.ts'
import { machineAddresses } from './probes/machine.ts'
import { openSmtpProbe } from './probes/smtp.ts'
import { freePort, listenHost } from './system.ts'

const DEFAULT_FILE = 'mayfly.config.json'
const GREETING_MS = 5_000

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
    return readConfig(isJson(file) ? source : { ...source, file: loadSettings(cwd, {}).file })
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
      const text = readText(file)
      const { config, settings } = readWith(file, text)
      const isGiven = (wanted: string) =>
        settings.some(({ name, origin }) => name === wanted && origin !== 'default')
      return {
        file,
        command,
        namesInFile: settingNames(file, text),
        isRoot: process.getuid?.() === 0,
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
  const addresses = machineAddresses().filter((ip) => !isPrivateIp(ip))
  const [reverse, known, port25, isRunning, httpPort] = await Promise.all([
    Promise.all(addresses.map((ip) => dns.ptr(ip))),
    dns.a('example.org'),
    portState(config, 25),
    portState(config, smtp.port).then((state) => state === 'this service'),
    tryPort(config.host, http.port),
  ])
  return {
    addresses,
    reverseNames: [...new Set(reverse.flatMap(recordsOf))],
    hasDns: !('error' in known),
    smtpPort: smtp.port,
    httpPort: http.port,
    port25,
    isRunning,
    isHttpPortTaken: !isRunning && httpPort === 'in use',
    domains,
    hostname: smtp.hostname,
    baseUrl: http.baseUrl,
    trustProxy: http.trustProxy,
    mailOut: config.mailOut,
    hasMtaSts: http.mtaSts !== 'off',
    hasAdminToken: adminToken !== '',
    supportTexts: plans === PLANS ? plans.map(({ support }) => support) : [],
  }
}

/** Whether the service can listen on the port, and what does now. */
export async function portState(config: Config, port: number): Promise<Machine['port25']> {
  const name = await greetedHost(config, port)
  if (name === undefined) return await tryPort(config.host, port)
  return sameName(name, config.smtp.hostname) ? 'this service' : 'in use'
}

async function tryPort(host: string, port: number) {
  try {
    await freePort(await listenHost(host), port)
    return 'free'
  } catch (error) {
    return hasErrorCode(error, 'EADDRINUSE') ? 'in use' : 'not permitted'
  }
}

/** The host name by which a mail server on this port greets; undefined if nothing answers. */
async function greetedHost({ host, smtp }: Config, port: number): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(GREETING_MS)
    const probe = await openSmtpProbe(smtp)(localAddress(host), port, signal)
    probe.close()
    return greetedName(probe.greeting.text)
  } catch {
    return undefined
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
  const target = statSync(path, { throwIfNoEntry: false }) ? realpathSync(path) : path
  const draft = `${target}.new`
  rmSync(draft, { force: true })
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  if (like) {
    if (process.getuid?.() === 0) chownSync(draft, like.uid, like.gid)
    chmodSync(draft, path === settings ? like.mode & 0o777 : like.mode & 0o640)
  }
  renameSync(draft, target)
}
