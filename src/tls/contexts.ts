import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Log } from '../base/log/log.ts'
import { toError } from '../base/problem.ts'
import { ensureCertificate } from './own-certificate.ts'
import { challengeCertificate } from './x509.ts'

/** What the main thread tells the others. Times in Unix milliseconds. */
export interface CertificateSet {
  version: number
  /** The host names that certificates are obtained for. */
  names: readonly string[]
  certificates: readonly ServedCertificate[]
}

export interface ServedCertificate {
  name: string
  /** Key and chain. */
  pem: string
  dueAt: number
  expiresAt: number
}

export interface TlsContexts {
  /** For a host name of SNI; without one, or for another one, that of the default name, and until there is one the self-signed. */
  contextFor(servername?: string): SecureContext
  /** Calls back with key and chain of the default name as PEM, now and whenever they change. */
  followDefault(use: (pem: string) => void): void
  /** When the certificate of the default name expires, in Unix milliseconds; undefined for the self-signed. */
  expiresAt(): number | undefined
  /** Whether the CA may ask for proof of this name now: its certificate is missing or due. */
  isChallengeable(servername: string): boolean
  /** The certificate with which to respond to tls-alpn-01 (RFC 8737); undefined if the CA does not ask for it now. */
  findChallenge(servername: string): Promise<SecureContext | undefined>
}

interface Deps {
  callMain(name: string, value?: unknown): Promise<unknown>
  /** Folder and name of the self-signed certificate. */
  folder: string
  hostname: string
  defaultName: string
  now(): Date
  log: Pick<Log, 'error'>
}

// Clocks of nodes may differ: another one may have begun to renew it.
const DUE_MARGIN_MS = 3_600_000

/** The certificates of this thread. New ones are used for the next connection; existing ones are not affected. */
export async function openTlsContexts(deps: Deps): Promise<TlsContexts> {
  const { callMain, folder, hostname, defaultName, now, log } = deps
  const own = readFileSync(
    await ensureCertificate(folder, { hostname, now: now(), serial: randomBytes(16) }),
    'utf8',
  )
  const selfSigned = createSecureContext({ cert: own, key: own })
  let names = new Set<string>()
  let served = new Map<string, ServedCertificate & { context: SecureContext }>()
  const followers: ((pem: string) => void)[] = []
  const defaultPem = () => served.get(defaultName)?.pem ?? own

  function use(set: CertificateSet): void {
    const before = defaultPem()
    names = new Set(set.names)
    served = new Map(
      set.certificates.flatMap((one) => {
        const known = served.get(one.name)
        if (known?.pem === one.pem) return [[one.name, { ...one, context: known.context }]]
        try {
          const context = createSecureContext({ cert: one.pem, key: one.pem })
          return [[one.name, { ...one, context }]]
        } catch (err) {
          log.error({ err: toError(err), name: one.name }, 'cannot use a certificate')
          return known ? [[one.name, known]] : []
        }
      }),
    )
    if (defaultPem() !== before) for (const follower of followers) follower(defaultPem())
  }

  async function follow(): Promise<void> {
    let seen = -1
    for (;;) {
      const set = (await callMain('certificates', seen)) as CertificateSet
      seen = set.version
      use(set)
      first.resolve()
    }
  }
  const first = Promise.withResolvers<void>()
  // It ends with the port, when the thread is closed.
  follow().catch(first.reject)
  await first.promise

  function isChallengeable(servername: string): boolean {
    const dueAt = served.get(servername)?.dueAt ?? 0
    return names.has(servername) && now().getTime() >= dueAt - DUE_MARGIN_MS
  }

  return {
    contextFor: (servername = defaultName) =>
      (served.get(servername) ?? served.get(defaultName))?.context ?? selfSigned,
    followDefault(follower) {
      followers.push(follower)
      follower(defaultPem())
    },
    expiresAt: () => served.get(defaultName)?.expiresAt,
    isChallengeable,
    async findChallenge(servername) {
      if (!isChallengeable(servername)) return undefined
      const found = await callMain('acmeChallenge', servername)
      if (typeof found !== 'string') return undefined
      const request = { hostname: servername, now: now(), serial: randomBytes(16) }
      const pem = challengeCertificate(request, found)
      return createSecureContext({ cert: pem, key: pem })
    },
  }
}
