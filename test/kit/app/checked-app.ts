import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { isPrivateIp } from '../../../src/base/ip.ts'
import { openLog } from '../../../src/base/log/open-log.ts'
import { parseBlockEntry } from '../../../src/blocks/rules.ts'
import { type Installation, listChecks } from '../../../src/doctor/checks.ts'
import { reportLines } from '../../../src/doctor/commands.ts'
import { openCheckContext } from '../../../src/doctor/facts.ts'
import type { FinishedCheck } from '../../../src/doctor/rules/result.ts'
import { runChecks } from '../../../src/doctor/run-checks.ts'
import { issueKey } from '../../../src/keys/keys.ts'
import { mtaStsPolicy } from '../../../src/mail/rules/mta-sts.ts'
import { OPERATOR } from '../../../src/mail/rules/session.ts'
import { openMailStoreIfExists, openShopStoreForCli } from '../../../src/runtime/stores.ts'
import { writeBackup } from '../../../src/store/backup/backup.ts'
import { RIGHT, zone } from '../dns/faulty-zones.ts'
import { openDnsServer } from '../dns/knot.ts'
import { certificateFor, openHttpsProxy, trustCertificates } from '../http/https-proxy.ts'
import { readGreeting } from '../smtp/smtp-client.ts'
import { tempFolder } from '../store/stores.ts'
import { waitUntil } from '../wait-until.ts'
import { startApp } from './app.ts'

export const HOST = 'mx.test'
type ProxyFile = NonNullable<Parameters<typeof openHttpsProxy>[0]['files']>[string]
const PROXY = '127.0.0.9'

interface Options {
  /** Domains of the service. */
  domains: readonly string[]
  /** Hosts that serve an MTA-STS policy, and the host that it allows; or what they serve instead. */
  policies: Readonly<Record<string, string | Exclude<ProxyFile, string>>>
  /** Lines of a zone file. */
  records: readonly string[]
  /** Names there are answered with SERVFAIL. */
  broken: string
}

/** A service for which every check is ok if the records are right: with a name server and an HTTPS proxy of its own. */
export async function startCheckedApp({ domains, policies, records, broken }: Options) {
  const files = tempFolder()
  const certificateFile = join(files.path, 'smtp.pem')
  const backupFile = join(files.path, 'shop.db')
  const certificate = certificateFor(HOST)
  const webNames = ['web.test', ...Object.keys(policies)]
  const certificates = Object.fromEntries(webNames.map((name) => [name, certificateFor(name)]))
  const stopTrusting = trustCertificates([certificate, ...Object.values(certificates)])
  writeFileSync(certificateFile, certificate, { mode: 0o600 })
  const dns = await openDnsServer(records, { broken })
  const app = await startApp({
    env: {
      MAYFLY_HOST: '0.0.0.0',
      MAYFLY_SMTP_HOSTNAME: HOST,
      MAYFLY_SMTP_TLS_CERT: certificateFile,
      MAYFLY_SMTP_TLS_KEY: certificateFile,
      MAYFLY_ADMIN_TOKEN: 'x'.repeat(32),
      MAYFLY_TRUST_PROXY: PROXY,
      MAYFLY_DNS: dns.server,
      MAYFLY_DOMAINS: domains.join(),
    },
  })
  chmodSync(app.folder, 0o700)
  const openProxy = (options: Partial<Parameters<typeof openHttpsProxy>[0]> = {}) =>
    openHttpsProxy({ certificates, port: app.httpPort, from: PROXY, ...options })
  const proxy = await openProxy({
    files: Object.fromEntries(
      Object.entries(policies).map(([name, host]) => {
        const served = typeof host === 'string' ? mtaStsPolicy(host, 'enforce') : host
        return [`${name}/.well-known/mta-sts.txt`, served]
      }),
    ),
  })
  const backUp = () => writeBackup(app.folder, backupFile, { force: true, tell() {} })
  await storeKey(app.config)
  backUp()

  /** In front of the service; `change` may answer a command itself, or alter what passes. */
  const frontEnd = (change: (chunk: string, answer: (reply: string) => void) => string) =>
    createServer((client) => {
      const inner = connect(app.smtpPort, '127.0.0.1')
      const answer = (reply: string) => void client.write(reply)
      const pass = (from: Socket, to: Socket) =>
        from
          .on('error', () => {})
          .on('data', (chunk) => {
            // What is encrypted stays as it is.
            to.write(change(chunk.toString('latin1'), answer), 'latin1')
          })
      pass(inner, client)
      pass(client, inner)
      client.on('close', () => inner.destroy())
    })

  const settings: Installation['settings'] = {
    ...app.config,
    http: {
      ...app.config.http,
      port: app.httpPort,
      baseUrl: `https://web.test:${proxy.port}`,
    },
    smtp: { ...app.config.smtp, port: app.smtpPort },
  }
  const { store, ...faults } = await openMailStoreIfExists(app.config)
  const opened = await openCheckContext(app.config, {
    log: openLog({ level: 'error', thread: 'main' }),
    store,
    ...faults,
    domain: domains[0],
    settings: undefined,
  })
  const context: Installation = {
    ...opened,
    settings,
    settingsReport: { count: 0, changed: 0, unknown: [] },
    publicPorts: { smtp: app.smtpPort, https: proxy.port },
    ownAddresses: ['127.0.0.1'],
    // The only addresses that a test has.
    isPrivateIp: (ip) => isPrivateIp(ip) && !ip.startsWith('127.'),
    // Both depend on the machine.
    clockSynchronized: async () => true,
    verifyMailOut: async () => undefined,
    dataDirectory: async () => ({ ...(await opened.dataDirectory()), fsyncMs: 1 }),
  }
  /** Newest first. */
  async function operatorMails() {
    const mails = (await store?.listMessages(OPERATOR, { sinceId: 0, limit: 100 })) ?? []
    const read = async (rawId: number) =>
      Buffer.from((await store?.readRaw(rawId))?.bytes ?? []).toString('latin1')
    return await Promise.all(mails.map(async (one) => ({ ...one, raw: await read(one.rawId) })))
  }

  /** Until the server greets accordingly. */
  async function changeBlock(text: string, greeting: 554 | 220): Promise<void> {
    const entries = [parseBlockEntry(text, { force: true })]
    const now = new Date()
    if (greeting === 220) await store?.removeBlocks(entries, now)
    else await store?.addBlocks({ entries, note: '', expiresAt: undefined, now })
    await waitUntil(async () =>
      (await readGreeting(app.smtpPort, '127.0.0.1')).startsWith(String(greeting)),
    )
  }

  return {
    app,
    dns,
    settings,
    context,
    certificate,
    certificateFile,
    certificates,
    openProxy,
    backUp,
    /** As connectSmtp, but commands like this one get another reply; code 0: none. */
    replying(pattern: RegExp, text: string): Installation['connectSmtp'] {
      return async (...given) => {
        const probe = await context.connectSmtp(...given)
        const command = async (line: string) => {
          const reply = await probe.command(line)
          return pattern.test(line) ? { code: Number(text.slice(0, 3)) || 0, text } : reply
        }
        return { ...probe, command }
      }
    },
    frontEnd,
    operatorMails,
    async emptyOperatorMailbox() {
      const ids = (await operatorMails()).map(({ id }) => id)
      await store?.deleteMessages(OPERATOR, ids)
    },
    async whileBlocked(entry: string, use: () => Promise<void>): Promise<void> {
      await changeBlock(entry, 554)
      try {
        await use()
      } finally {
        await changeBlock(entry, 220)
      }
    },
    /** Runs all checks, with this changed. */
    check: (changed: Partial<Installation> = {}, { listings = false, timeoutMs = 15_000 } = {}) =>
      runChecks(listChecks({ ...context, ...changed }, { listings }), { timeoutMs }),
    /** Makes only this check, with this changed. */
    checkOnly: (name: string, changed: Partial<Installation> = {}) =>
      runChecks(listChecks({ ...context, ...changed }).filter((one) => one.name === name)),
    /** Serves another certificate on the mail port. */
    async withCertificate<T>(pem: string, use: () => Promise<T>): Promise<T> {
      writeFileSync(certificateFile, pem)
      try {
        return await use()
      } finally {
        writeFileSync(certificateFile, certificate)
      }
    },
    async stop() {
      await store?.close()
      await proxy.close()
      await app.stop()
      dns.close()
      stopTrusting()
      files.remove()
    },
  }
}

type CheckedApp = Awaited<ReturnType<typeof startCheckedApp>>
type Settings = Installation['settings']

/** Such a service with one domain and its right records, for the tests of a file. */
export function useCheckedApp() {
  let app: CheckedApp | undefined
  beforeAll(async () => {
    app = await startCheckedApp({
      domains: [RIGHT],
      policies: { [`mta-sts.${RIGHT}`]: HOST },
      records: zone(),
      broken: 'broken.test',
    })
  })
  afterAll(() => app?.stop())
  function fixture(): CheckedApp {
    if (!app) throw new Error('the service has not been started')
    return app
  }
  const set = (changed: Partial<Settings>) => ({
    settings: { ...fixture().settings, ...changed },
  })
  const check: CheckedApp['check'] = (changed, options) => fixture().check(changed, options)
  return {
    fixture,
    check,
    /** Settings with this changed, to be checked. */
    set,
    http: (changed: Partial<Settings['http']>) =>
      set({ http: { ...fixture().settings.http, ...changed } }),
    smtp: (changed: Partial<Settings['smtp']>) =>
      set({ smtp: { ...fixture().settings.smtp, ...changed } }),
  }
}

/** Something to back up. */
async function storeKey(
  config: Parameters<typeof openShopStoreForCli>[0] & { plans: readonly Plan[] },
) {
  const shop = await openShopStoreForCli(config)
  const [plan] = config.plans
  if (!plan) throw new Error('there are no plans')
  const deps = { shop, now: () => new Date(), randomBytes }
  await issueKey(deps, { plan, label: 'test', mode: 'live' })
  await shop.close()
}

type Plan = Parameters<typeof issueKey>[1]['plan']

/** Store of another installation. */
export const LOST_STORE = {
  listMessages: async () => [],
  deleteMessages: async () => ({ messages: 0, bytes: 0 }),
  readRaw: async () => undefined,
  readLedger: async () => undefined,
  listDomains: async () => [],
  listTlsEntries: async () => [],
}

export const wrong = (results: readonly FinishedCheck[]) =>
  results.filter(({ status }) => status === 'warning' || status === 'failure')

/** Exactly this check is not ok, and the report has its fix. */
export function expectOnly(
  results: readonly FinishedCheck[],
  expected: readonly (string | undefined)[],
) {
  const [status, name, fix = ''] = expected
  const found = wrong(results)
  expect(found).toEqual([expect.objectContaining({ status, name })])
  const printed = found[0]?.fix.split('\n').join(`\n${' '.repeat(14)}`)
  expect(reportLines(results).join('\n')).toContain(`         Fix: ${printed}\n`)
  expect(found[0]?.fix).toContain(fix)
}

/** A TCP server on a free local port, as long as the operation runs. */
export async function withServer<T>(server: Server, use: (port: number) => Promise<T>): Promise<T> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    return await use((server.address() as AddressInfo).port)
  } finally {
    server.close()
  }
}
