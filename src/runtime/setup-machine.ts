import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Machine, SetupActions } from '../cli/setup.ts'
import type { Config, readConfig } from '../config/config.ts'
import { editSettings, settingChanges } from '../config/edit-file.ts'
import { isPrivateIp } from '../core/checks/dns-rules.ts'
import { recordsOf } from '../core/checks/result.ts'
import { PLANS } from '../core/plan.ts'
import { hasErrorCode } from '../core/problem.ts'
import { openDnsProbe } from './probes/dns.ts'
import { machineAddresses } from './probes/machine.ts'
import { freePort } from './system.ts'

const DEFAULT_FILE = 'mayfly.config.json'

/** What `mayfly setup` looks at and writes. */
export function setupActions(
  { config, settings: known }: ReturnType<typeof readConfig>,
  { command, env }: { command: string; env: NodeJS.ProcessEnv },
): SetupActions {
  return {
    inspectMachine: async (file = DEFAULT_FILE) => ({
      ...(await inspectMachine(config, resolve(file), command)),
      isSmtpPortGiven: known.some(
        ({ name, origin }) => name === 'MAYFLY_SMTP_PORT' && origin !== 'default',
      ),
    }),
    previewSettings(file, settings) {
      const changes = settingChanges(file, readText(file), settings)
      return changes.map(({ name, value, before }) => {
        const given = env[name]
        const overridden = given !== undefined && given !== value && given !== before
        return { name, value, before, overridden }
      })
    },
    writeSettings(file, settings) {
      const text = readText(file)
      writeLike(file, file, editSettings(file, text, settingChanges(file, text, settings)))
    },
    createAdminToken(file) {
      const path = join(dirname(file), 'admin-token')
      if (!existsSync(path)) writeLike(file, path, `${randomBytes(32).toString('base64')}\n`)
      return path
    },
  }
}

async function inspectMachine(
  config: Config,
  file: string,
  command: string,
): Promise<Omit<Machine, 'isSmtpPortGiven'>> {
  const { domains, smtp, http, adminToken, host, plans } = config
  const dns = openDnsProbe(config.senderChecks.dns)
  const addresses = machineAddresses().filter((ip) => !isPrivateIp(ip))
  const reverse = await Promise.all(addresses.map((ip) => dns.ptr(ip)))
  return {
    file,
    command,
    addresses,
    reverseNames: [...new Set(reverse.flatMap(recordsOf))],
    hasDns: !('error' in (await dns.a('example.org'))),
    smtpPort: smtp.port,
    httpPort: http.port,
    port25: smtp.port === 25 ? 'free' : await portState(host, 25),
    domains,
    hostname: smtp.hostname,
    baseUrl: http.baseUrl,
    trustProxy: http.trustProxy,
    hasMtaSts: http.mtaSts !== 'off',
    hasAdminToken: adminToken !== '',
    supportTexts: plans === PLANS ? plans.map(({ support }) => support) : [],
  }
}

async function portState(host: string, port: number): Promise<Machine['port25']> {
  try {
    await freePort(host, port)
    return 'free'
  } catch (error) {
    return hasErrorCode(error, 'EADDRINUSE') ? 'in use' : 'not permitted'
  }
}

function readText(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

/** Replaces a file as a whole, readable by those who may read the settings: only the owner if there are none yet. */
function writeLike(settings: string, path: string, text: string): void {
  const like = statSync(settings, { throwIfNoEntry: false })
  const draft = `${path}.new`
  writeFileSync(draft, text, { mode: 0o600, flush: true })
  if (like) {
    if (process.getuid?.() === 0) chownSync(draft, like.uid, like.gid)
    chmodSync(draft, path === settings ? like.mode & 0o777 : like.mode & 0o640)
  }
  renameSync(draft, path)
}
