import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MailDomain } from '../base/address.ts'
import { type LeaseStore, runUnderLease, untilAborted } from '../base/jobs/lease.ts'
import { logFault } from '../base/jobs/outage.ts'
import { repeatUntilAborted, runUntilStopped, unlessAborted } from '../base/jobs/repeat.ts'
import type { Log } from '../base/log/log.ts'
import { gaugeOf, registerMetric } from '../base/metrics.ts'
import { spaced } from '../base/throttled.ts'
import type { CertificateSet, ServedCertificate } from './contexts.ts'
import { type OnUnreadable, openTlsFiles } from './files.ts'
import { type Attempts, certificateNames, NO_ATTEMPTS, renewalTime } from './rules.ts'
import type { TlsStore } from './store.ts'

export interface TlsConfig {
  data: string
  /** `sqlite:` for a single node. */
  store: string
  http: { baseUrl: string; mtaSts: string }
  smtp: { hostname: string; tlsCert: string }
  acme: {
    on: boolean
    email: string
    directory: string
    caFile: string
    lookMs: number
  }
}

interface JobDeps {
  config: TlsConfig
  store: TlsStore & LeaseStore & { listDomains(): Promise<MailDomain[]> }
  now(): Date
  log: Log
  /** Resolves when the servers listen: the CA connects to them. */
  serving: Promise<void>
}

/** In the data directory of a single node; in the database of several. */
export function tlsStorage<Store extends Pick<TlsStore, 'listTlsEntries'>>(
  { data, store: url }: Pick<TlsConfig, 'data' | 'store'>,
  store: Store,
  onUnreadable: OnUnreadable,
): Store | TlsStore {
  return url === 'sqlite:' ? openTlsFiles(join(data, 'tls'), onUnreadable) : store
}

/** The names that this installation needs certificates for. */
export function wantedNames(
  { http, smtp }: Pick<TlsConfig, 'http' | 'smtp'>,
  domains: readonly MailDomain[],
): string[] {
  return certificateNames({
    baseUrl: http.baseUrl,
    smtpHost: smtp.tlsCert === '' ? smtp.hostname : undefined,
    mtaSts: http.mtaSts !== 'off',
    domains,
  })
}

/** Obtains certificates, on one node at a time, and passes those of all names to the threads of this node. */
export async function startCertificates({ config, store, now, log, serving }: JobDeps) {
  const { acme } = config
  if (!acme.on) return { stop: async () => {}, commands: {} }
  const client = await loadClient(acme)
  const storage = tlsStorage(config, store, (path, err) => log.error({ path, err }, UNREADABLE))
  const names = async () => wantedNames(config, await store.listDomains())
  const board = openBoard()
  // A flood of handshakes must not become a flood of queries. No result is older than its request.
  const listChallenges = spaced(CHALLENGE_MS, () => storage.listTlsEntries('challenge'))

  let last: ServedCertificate[] = []
  async function follow(): Promise<void> {
    const [wanted, { certificates, unreadable }, attempts] = await Promise.all([
      names(),
      client.readCertificates(storage),
      client.readAttempts(storage),
    ])
    const found = wanted.flatMap((name) => certificates.get(name) ?? [])
    const readable = found.map((one): ServedCertificate => {
      const dueAt = renewalTime(one, attempts.get(one.name) ?? NO_ATTEMPTS, now()).getTime()
      return { name: one.name, pem: one.pem, dueAt, expiresAt: one.notAfter.getTime() }
    })
    // What was read before is used until the file can be read again.
    const isKept = ({ name }: ServedCertificate) => unreadable.has(name) && wanted.includes(name)
    last = [...readable, ...last.filter(isKept)]
    board.publish({ names: wanted, certificates: last })
    report = { certificates: last, unreadable, attempts, names: wanted }
  }
  const unread = 'cannot read the certificates; retrying'
  // Before the servers start. What cannot be read now does not keep them from starting.
  await follow().catch((error) => logFault(log, error, unread))
  const repeat = (ended: AbortSignal, operation: () => Promise<void>, failed: string) =>
    repeatUntilAborted(ended, { operation, failed, intervalMs: acme.lookMs, log })
  const following = runUntilStopped((ended) => repeat(ended, follow, unread))

  const renew = async (stop: AbortSignal) => {
    const deps = { ...acme, storage, send: client.openSend(stop), log, now, onSaved: follow }
    await client.renewCertificates(deps, await names(), stop)
  }
  const operation = (stop: AbortSignal) =>
    repeat(stop, () => renew(stop), 'renewing certificates failed; retrying')
  const renewing = runUntilStopped(async (ended) => {
    await Promise.race([serving, untilAborted(ended)])
    await runUnderLease({ store, log }, { name: 'certificates', ended, operation })
  })

  return {
    commands: {
      /** Resolves when there is a newer set than the one seen. */
      certificates: (seen: number, signal: AbortSignal) => board.after(seen, signal),
      /** The key authorization of a token, or of a host name; undefined if the CA does not ask for it. */
      acmeChallenge: async (name: string) =>
        (await listChallenges()).find((entry) => entry.name === name)?.value,
    },
    async stop(): Promise<void> {
      await Promise.all([following.stop(), renewing.stop()])
      report = undefined
    },
    drain: renewing.stop,
  }
}

/** Only a service that obtains certificates needs its memory. */
async function loadClient({ caFile }: Pick<TlsConfig['acme'], 'caFile'>) {
  const { openAcmeHttp } = await import('./acme/http.ts')
  function openSend(signal: AbortSignal) {
    const ca = caFile === '' ? undefined : readFileSync(caFile, 'utf8')
    return openAcmeHttp({ ca, userAgent: USER_AGENT, signal })
  }
  return { ...(await import('./renew-certificates.ts')), openSend }
}

const UNREADABLE =
  'cannot read a file of the certificates: let the user of the service read it; meanwhile, what depends on it is not renewed'

const CHALLENGE_MS = 50
const USER_AGENT = 'mayfly'

/** The current set; threads wait for the next one. */
function openBoard() {
  let current: CertificateSet = { version: 0, names: [], certificates: [] }
  let next = Promise.withResolvers<void>()
  return {
    publish(set: Omit<CertificateSet, 'version'>): void {
      const { version, ...last } = current
      if (JSON.stringify(last) === JSON.stringify(set)) return
      current = { ...set, version: version + 1 }
      const { resolve } = next
      next = Promise.withResolvers()
      resolve()
    },
    async after(seen: number, signal: AbortSignal): Promise<CertificateSet> {
      while (current.version === seen) await unlessAborted(signal, next.promise)
      return current
    },
  }
}

interface Report {
  names: readonly string[]
  certificates: readonly ServedCertificate[]
  unreadable: ReadonlySet<string>
  attempts: ReadonlyMap<string, Attempts>
}

let report: Report | undefined

/** 0 for a file that could not be read since the start, so that the alert fires. */
function expiryValues({ names, certificates, unreadable }: Report) {
  const known = new Map(certificates.map(({ name, expiresAt }) => [name, expiresAt]))
  return names.flatMap((name) => {
    const expiresAt = known.get(name) ?? (unreadable.has(name) ? 0 : undefined)
    return expiresAt === undefined ? [] : [{ labels: { name }, value: expiresAt / 1000 }]
  })
}

registerMetric(() =>
  gaugeOf(
    'mayfly_certificate_expiry_timestamp_seconds',
    'When the certificate of a host name expires, in Unix time; 0 if its file cannot be read',
    report ? expiryValues(report) : [],
  ),
)

registerMetric(() =>
  gaugeOf(
    'mayfly_certificate_failures',
    'Attempts to obtain the certificate of a host name that failed since the last success',
    (report?.names ?? []).map((name) => {
      return { labels: { name }, value: report?.attempts.get(name)?.failures ?? 0 }
    }),
  ),
)
