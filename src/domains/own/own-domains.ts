import { makeSecretToken } from '../../base/id.ts'
import type { Log } from '../../base/log/log.ts'
import { Problem } from '../../base/problem.ts'
import { takeRate } from '../../http/server/rates.ts'
import { type ApiKey, type DomainUsageOf, KEY_RANDOM_BYTES, makeId } from '../../keys/rules.ts'
import type { KeyStore } from '../../keys/store.ts'
import type { MailDeps } from '../../mail/deps.ts'
import { wakeSession } from '../../mail/sessions/session.ts'
import { type FoundRecords, type OwnDomainDns, recordName, recordText } from './dns.ts'
import { parseOwnDomain } from './names.ts'
import {
  afterCheck,
  domainWarnings,
  isAtOrBelow,
  isConfirmed,
  lapseOf,
  type OwnDomain,
  type RecordCheck,
} from './rules.ts'
import type { EndedSession, OwnDomainStore } from './store.ts'

export interface OwnDomainDeps
  extends Pick<MailDeps, 'bus' | 'limit' | 'now' | 'randomBytes' | 'ownHosts'> {
  store: OwnDomainStore
  shop: Pick<KeyStore, 'readKey'>
  ownDomainDns: OwnDomainDns
  log: Pick<Log, 'info'>
}

const TOKEN_BYTES = 20
const DNS_RETRY_SECONDS = 30

/** A claim, which its key then verifies. */
export async function addOwnDomain(
  deps: OwnDomainDeps,
  { id: keyId, maxDomains }: Pick<ApiKey, 'id' | 'maxDomains'>,
  text: string,
): Promise<OwnDomain> {
  const { store, now, randomBytes, ownHosts } = deps
  const name = await parseOwnDomain(text)
  if (ownHosts.some((host) => isAtOrBelow(name, host))) throw reserved(name)
  const added = await store.addOwnDomain(
    {
      id: makeId('dom', randomBytes(KEY_RANDOM_BYTES)),
      keyId,
      name,
      token: makeSecretToken(randomBytes(TOKEN_BYTES)),
      createdAt: now(),
    },
    maxDomains,
  )
  if (added === 'exists') throw new Problem('domain_exists', `This key already has ${name}.`)
  if (added === 'reserved') throw reserved(name)
  if (added === 'limit') {
    throw new Problem('domain_limit', limitText(maxDomains))
  }
  return added
}

/** Throws `domain_not_found`, also for a domain of another key: knowing the id reveals nothing. Without a key: for the operator. */
export async function requireOwnDomain(
  { store }: Pick<OwnDomainDeps, 'store'>,
  id: string,
  keyId?: string,
): Promise<OwnDomain> {
  return required(await store.findOwnDomain(id, keyId))
}

/** Looks for the record now. Another key's claim is taken over only if its record is missing. */
export async function verifyOwnDomain(
  deps: OwnDomainDeps,
  id: string,
  { keyId, client }: { keyId: string; client: string | undefined },
): Promise<OwnDomain> {
  const claim = await requireOwnDomain(deps, id, keyId)
  if (client !== undefined) await takeRate(deps, 'verifyDomain', keyId)
  // Before the look-up: a key that becomes the holder, or is checked, during it was not looked for.
  const holder = await deps.store.findDomainHolder(claim.name)
  const found = await deps.ownDomainDns(claim.name)
  const record = recordOf(claim, found)
  const isHeld = claim.state !== 'pending'
  const checked = isHeld ? required(await recordCheck(deps, id, { found })) : claim
  if (found.isAlias) {
    const why = `${claim.name} has a CNAME record, and so cannot have an MX record.`
    throw new Problem('invalid_domain', `${why} Remove it, or use another name.`)
  }
  if (record === 'unknown') throw dnsFailed(found)
  if (record === 'missing') throw recordMissing(claim, found)
  if (!isHeld) return await activate(deps, claim, { found, holder })
  if (checked.state !== 'pending' && !isConfirmed(checked)) {
    throw found.isComplete ? held(claim.name, checked) : dnsFailed(found)
  }
  return checked
}

async function activate(
  deps: OwnDomainDeps,
  claim: OwnDomain,
  { found, holder }: { found: FoundRecords; holder: OwnDomain | undefined },
): Promise<OwnDomain> {
  const { store, now, bus, log } = deps
  const { id, keyId, name } = claim
  const theirs = holder && recordOf(holder, found)
  if (theirs === 'found') throw held(name)
  if (theirs === 'unknown') throw dnsFailed(found)
  const activation = { id, keyId, now: now(), replaces: holder }
  const { outcome, ended } = await store.activateOwnDomain(activation)
  if (outcome === 'held') throw held(name, holder ?? claim)
  if (outcome === 'reserved') throw reserved(name)
  wakeAll(bus, ended)
  log.info({ domain: name, keyId, former: holder?.keyId }, 'domain of a key verified')
  return await requireOwnDomain(deps, id, keyId)
}

/**
 * Records what a check of a domain that is held found; without `found`, only what its key means for it. `isResumed`: the operator
 * no longer suspends it. Undefined if it is gone.
 */
export async function recordCheck(
  { store, shop, now, log }: CheckDeps,
  id: string,
  { found, isResumed = false }: { found?: FoundRecords | undefined; isResumed?: boolean } = {},
): Promise<OwnDomain | undefined> {
  // Read again: looking for the record takes seconds.
  const domain = await store.findOwnDomain(id)
  if (!domain || domain.state === 'pending') return domain
  const record = found && holderRecord(domain, found)
  const lapse = lapseOf(await shop.readKey(domain.keyId, now()), now())
  const isFree = isResumed && domain.reason === 'suspended_by_operator'
  const before = isFree ? { ...domain, reason: undefined } : domain
  const next = afterCheck(before, { record, lapse }, now())
  const { state, reason, checkedAt, missingSince, lapsedSince } = next
  const change = {
    state,
    reason: reason ?? null,
    checkedAt: checkedAt ?? null,
    missingSince: missingSince ?? null,
    lapsedSince: lapsedSince ?? null,
  }
  const changed = await store.changeOwnDomain(id, change, undefined, domain)
  if (changed && (changed.state !== domain.state || changed.reason !== domain.reason)) {
    logState(log, changed)
  }
  return changed
}

/** For /usage. */
export function openDomainUsage({ store, ownDomains, now }: DomainUsageDeps): DomainUsageOf {
  return async (key) => {
    const domains = await store.listOwnDomains(key.id)
    const warnings = domainWarnings(domains, key, now())
    return { limit: ownDomains ? key.maxDomains : 0, used: domains.length, warnings }
  }
}

interface DomainUsageDeps {
  store: Pick<OwnDomainStore, 'listOwnDomains'>
  ownDomains: boolean
  now(): Date
}

export async function changeCatchAll(
  { store }: Pick<OwnDomainDeps, 'store'>,
  id: string,
  keyId: string,
  catchAll: boolean,
): Promise<OwnDomain> {
  return required(await store.changeOwnDomain(id, { catchAll }, keyId))
}

type CheckDeps = Pick<OwnDomainDeps, 'store' | 'shop' | 'now' | 'log'>

function logState(log: CheckDeps['log'], { name, keyId, state, reason }: OwnDomain): void {
  log.info({ domain: name, keyId, state, reason }, 'domain of a key changed its state')
}

/** By the operator. Throws `invalid_parameter` for a domain that nobody holds. */
export async function suspendOwnDomain(
  { store, log }: Pick<CheckDeps, 'store' | 'log'>,
  id: string,
): Promise<OwnDomain> {
  requireHeld(await requireOwnDomain({ store }, id))
  const change = { state: 'suspended', reason: 'suspended_by_operator' } as const
  const suspended = required(await store.changeOwnDomain(id, change))
  logState(log, suspended)
  return suspended
}

/**
 * Takes mail again, unless the key lapsed too long ago, or its record was not found since a restore; if its record is missing, until
 * the next check.
 */
export async function resumeOwnDomain(deps: CheckDeps, id: string): Promise<OwnDomain> {
  requireHeld(await requireOwnDomain(deps, id))
  return required(await recordCheck(deps, id, { isResumed: true }))
}

export async function deleteOwnDomain(
  { store, bus, now, log }: Pick<OwnDomainDeps, 'store' | 'bus' | 'now' | 'log'>,
  id: string,
  keyId?: string,
): Promise<OwnDomain> {
  const domain = await requireOwnDomain({ store }, id, keyId)
  const ended = required(await store.deleteOwnDomain(id, keyId, now()))
  if (ended === 'suspended') throw new Problem('not_allowed', suspendedText(domain.name))
  wakeAll(bus, ended)
  log.info({ domain: domain.name, keyId: domain.keyId }, 'domain of a key deleted')
  return domain
}

function wakeAll(bus: OwnDomainDeps['bus'], ended: readonly EndedSession[]): void {
  for (const session of ended) wakeSession(bus, session)
}

function recordOf({ token }: Pick<OwnDomain, 'token'>, found: FoundRecords): RecordCheck {
  if (found.texts.has(recordText(token))) return 'found'
  return found.isComplete ? 'missing' : 'unknown'
}

/** Of one that holds its domain. After a restore it counts only if no other key can have verified the domain since. */
function holderRecord(domain: OwnDomain, found: FoundRecords): RecordCheck {
  const record = recordOf(domain, found)
  if (record !== 'found' || isConfirmed(domain)) return record
  const own = recordText(domain.token)
  const isAlone = [...found.texts].every((text) => text === own || !text.startsWith(recordText('')))
  return found.isComplete && isAlone ? 'found' : 'unknown'
}

function required<T>(found: T | undefined): T {
  if (found !== undefined) return found
  throw new Problem('domain_not_found', 'No such domain.')
}

function requireHeld(domain: OwnDomain): OwnDomain {
  if (domain.state !== 'pending') return domain
  throw new Problem('invalid_parameter', `${domain.name} is not verified yet.`)
}

function reserved(name: string): Problem {
  return new Problem(
    'domain_reserved',
    `${name} is or was a domain of this service, or is below one.`,
  )
}

function limitText(maxDomains: number): string {
  if (maxDomains === 0) return 'The plan of this key includes no domains of its own.'
  const domains = maxDomains === 1 ? 'one domain' : `${maxDomains} domains`
  return `This key can have at most ${domains}. Delete one first.`
}

const suspendedText = (name: string) => `The operator has suspended ${name}.`

function held(name: string, holder?: OwnDomain): Problem {
  if (holder?.reason === 'suspended_by_operator') {
    return new Problem('domain_held', suspendedText(name))
  }
  const text = `Another key holds ${name}, and its record is still there. Remove that record first.`
  return new Problem('domain_held', text)
}

function dnsFailed({ failure = '' }: FoundRecords): Problem {
  return new Problem('dns_failed', `${failure} Try again later.`.trim(), DNS_RETRY_SECONDS)
}

function recordMissing({ name, token }: OwnDomain, { texts }: FoundRecords): Problem {
  const there = texts.size === 0 ? 'none' : `${texts.size} with other values`
  const text = `No TXT record ${recordText(token)} at ${recordName(name)}: its name servers have ${there}.`
  return new Problem('record_missing', text)
}
