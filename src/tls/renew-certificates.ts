import { createPrivateKey, hash, type KeyObject, X509Certificate } from 'node:crypto'
import type { Log } from '../base/log/log.ts'
import { toError } from '../base/problem.ts'
import { type AcmeClient, openAcmeClient, type Proof } from './acme/client.ts'
import { AcmeError, parseRecord } from './acme/error.ts'
import type { SendAcme } from './acme/http.ts'
import {
  type Attempts,
  beginAttempt,
  completeAttempt,
  failAttempt,
  isWaiting,
  NO_ATTEMPTS,
  nextChallenge,
  renewalTime,
  type Validity,
} from './rules.ts'
import type { TlsEntry, TlsStore } from './store.ts'
import { generateKey, keyPem, signingRequest } from './x509.ts'

export interface RenewDeps {
  storage: TlsStore
  send: SendAcme
  directory: string
  email: string
  log: Pick<Log, 'info' | 'warn'>
  now(): Date
  /** A certificate was saved. */
  onSaved(): Promise<void>
}

/**
 * Obtains the certificates of these names that are missing or due, one after the other. A name that fails waits for its next
 * attempt and does not affect the others, unless the CA limits our requests. Only one node may do this at a time.
 */
export async function renewCertificates(
  deps: RenewDeps,
  names: readonly string[],
  stop: AbortSignal,
): Promise<void> {
  const due = await dueNames(deps, names)
  if (due.length === 0) return
  const account = await readAccount(deps)
  // The storage reports it. No name has failed by that.
  if (account.isUnreadable) return
  // Left behind by a node that died.
  for (const { kind, name } of await deps.storage.listTlsEntries('challenge'))
    await deps.storage.deleteTlsEntry(kind, name)
  // A CA that cannot be reached is asked once, not for each name.
  let session: Promise<Session> | undefined
  for (const one of due) {
    if (stop.aborted) return
    const { name, attempts } = one
    const began = beginAttempt(attempts, deps.now())
    await saveAttempts(deps, name, began)
    const type = nextChallenge(attempts)
    try {
      session ??= openSession(deps, account, stop)
      await obtain(deps, await session, { ...one, type })
    } catch (error) {
      if (stop.aborted) return
      const { limitedBy } = await recordFailure(deps, { name, type }, began, asAcmeError(error))
      if (limitedBy !== undefined) return
    }
  }
}

interface DueName {
  name: string
  attempts: Attempts
  current: StoredCertificate | undefined
}

async function dueNames(
  { storage, now, directory }: RenewDeps,
  names: readonly string[],
): Promise<DueName[]> {
  const [{ certificates, unreadable }, entries] = await Promise.all([
    readCertificates(storage),
    storage.listTlsEntries('attempts'),
  ])
  const known = attemptsOf(entries)
  // How long the CA wants us to wait is not known. If it limits us, the next name is told so, and waits for all.
  const unknown = unreadableNames(entries)
  const at = now()
  const isLimited = (one: Attempts) => one.limitedBy === directory && isWaiting(one, at)
  if (known.values().some(isLimited)) return []
  const due = names.flatMap((name) => {
    const attempts = known.get(name) ?? NO_ATTEMPTS
    const current = certificates.get(name)
    const isDue = current ? renewalTime(current, attempts, at) <= at : !unreadable.has(name)
    const mayAsk = !unknown.has(name) && !isWaiting(attempts, at)
    return isDue && mayAsk ? [{ name, attempts, current }] : []
  })
  // The limit may be about one domain only: after the wait, the others come first.
  return due.toSorted((one, other) => one.attempts.failures - other.attempts.failures)
}

/** A certificate and its key as PEM. */
interface StoredCertificate extends Validity {
  name: string
  pem: string
}

/** Undefined if it cannot be used: its file was damaged, and another one is obtained. */
function certificateOf({ name, value: pem }: TlsEntry): StoredCertificate | undefined {
  try {
    const leaf = new X509Certificate(pem.slice(pem.indexOf('-----BEGIN CERTIFICATE')))
    if (!leaf.checkPrivateKey(createPrivateKey(pem))) return undefined
    const { validFromDate: notBefore, validToDate: notAfter, fingerprint256: fingerprint } = leaf
    return { name, pem, notBefore, notAfter, fingerprint }
  } catch {
    return undefined
  }
}

interface Certificates {
  /** By host name. */
  certificates: Map<string, StoredCertificate>
  /** Names whose file cannot be read. It is not replaced: TLSA records of DANE may name its key. */
  unreadable: Set<string>
}

export async function readCertificates(
  storage: Pick<TlsStore, 'listTlsEntries'>,
): Promise<Certificates> {
  const entries = await storage.listTlsEntries('certificate')
  const readable = entries.flatMap((entry) => certificateOf(entry) ?? [])
  return {
    certificates: new Map(readable.map((certificate) => [certificate.name, certificate])),
    unreadable: unreadableNames(entries),
  }
}

function unreadableNames(entries: readonly TlsEntry[]): Set<string> {
  return new Set(entries.filter(({ isUnreadable }) => isUnreadable).map(({ name }) => name))
}

export async function readAttempts(
  storage: Pick<TlsStore, 'listTlsEntries'>,
): Promise<Map<string, Attempts>> {
  return attemptsOf(await storage.listTlsEntries('attempts'))
}

function attemptsOf(entries: readonly TlsEntry[]): Map<string, Attempts> {
  return new Map(
    entries.map(({ name, value }) => [name, { ...NO_ATTEMPTS, ...parseRecord(value) }]),
  )
}

async function saveAttempts(
  { storage }: RenewDeps,
  name: string,
  attempts: Attempts,
): Promise<void> {
  await storage.saveTlsEntry({ kind: 'attempts', name, value: JSON.stringify(attempts) })
}

async function recordFailure(
  deps: RenewDeps,
  { name, type }: { name: string; type: string },
  began: Attempts,
  { message, type: problem, retryAfterMs }: AcmeError,
): Promise<Attempts> {
  const { directory } = deps
  const failure = { message, type: problem, retryAfterMs, directory }
  const failed = failAttempt(began, failure, deps.now())
  await saveAttempts(deps, name, failed)
  const nextAt = new Date(failed.nextAt).toISOString()
  deps.log.warn({ name, challenge: type, reason: message, nextAt }, 'no certificate obtained')
  return failed
}

function asAcmeError(error: unknown): AcmeError {
  return error instanceof AcmeError ? error : new AcmeError(toError(error).message)
}

interface Session {
  client: AcmeClient
  /** URL of the account. */
  account: string
  /** Registers the account again, under its key. */
  register(): Promise<string>
}

/** The account of this installation at the CA; its value is empty if there is none. */
async function readAccount({ storage, directory }: RenewDeps): Promise<TlsEntry> {
  const id = hash('sha256', directory).slice(0, 32)
  const entry = (await storage.listTlsEntries('account')).find(({ name }) => name === id)
  return entry ?? { kind: 'account', name: id, value: '' }
}

/** Connects to the CA with this account, which is created if there is none. */
async function openSession(
  { storage, send, directory, email }: RenewDeps,
  entry: TlsEntry,
  signal: AbortSignal,
): Promise<Session> {
  const known = parseRecord(entry.value) ?? {}
  const key = typeof known['key'] === 'string' ? createPrivateKey(known['key']) : generateKey()
  const save = (url: string) => {
    const value = JSON.stringify({ directory, url, key: keyPem(key) })
    return storage.saveTlsEntry({ ...entry, value })
  }
  // The key first: with it, the account is found again.
  if (known['key'] === undefined) await save('')
  const client = await openAcmeClient({ send, directory, accountKey: key, signal })
  const register = async () => {
    const url = await client.register(email)
    await save(url)
    return url
  }
  const account = String(known['url'] ?? '') || (await register())
  return { client, account, register }
}

async function obtain(
  deps: RenewDeps,
  session: Session,
  { name, current, type }: Pick<DueName, 'name' | 'current'> & { type: Proof['type'] },
): Promise<void> {
  // The same key as before: TLSA records of DANE stay valid.
  const key = current ? createPrivateKey(current.pem) : generateKey()
  const proof = { type, publish: publisher(deps) }
  const order = { name, key, csr: signingRequest(name, key), proof }
  const chain = await orderWithAccount(session, order)
  const entry = { kind: 'certificate', name, value: keyPem(key) + chain } as const
  await deps.storage.saveTlsEntry(entry)
  await saveAttempts(deps, name, completeAttempt(type, deps.now()))
  await deps.onSaved()
  const expiresAt = certificateOf(entry)?.notAfter.toISOString()
  deps.log.info({ name, challenge: type, expiresAt }, 'certificate obtained')
}

type Order = { name: string; key: KeyObject; csr: Uint8Array; proof: Proof }

async function orderWithAccount(session: Session, order: Order): Promise<string> {
  const { client, account } = session
  try {
    return await client.obtain({ ...order, account })
  } catch (error) {
    if (!(error instanceof AcmeError) || error.type !== 'accountDoesNotExist') throw error
    session.account = await session.register()
    return await client.obtain({ ...order, account: session.account })
  }
}

/** Any node responds to a challenge once it is saved. */
function publisher({ storage }: RenewDeps): Proof['publish'] {
  return async ({ type, name: host, token, keyAuthorization: value }) => {
    const name = type === 'http-01' ? token : host
    await storage.saveTlsEntry({ kind: 'challenge', name, value })
    return () => storage.deleteTlsEntry('challenge', name)
  }
}
