import { hash } from 'node:crypto'
import { openLru } from '../../base/lru.ts'
import { bodyBytes, type HttpResponse } from './response.ts'

/** Weak: equal state, not equal bytes. Includes the id, because the version of a revived session starts again at 1. */
export function mailboxEtag({ id, version }: { id: number; version: number }): string {
  return `W/"${id.toString(36)}-${version.toString(36)}"`
}

/** For what a key can see. Hashed, because the version reveals mailboxes; includes the key, so that no two share a tag. */
export function keyedEtag(
  { keyId, to }: { keyId: string; to: string | undefined },
  version: string,
): string {
  return `W/"${hash('sha256', `${keyId} ${to ?? ''} ${version}`, 'base64url').slice(0, 22)}"`
}

// A client sends the one it has.
const MAX_ETAGS = 100

/** RFC 9110 13.1.2, with the weak comparison. */
export function matchesEtag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === tag || ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',', MAX_ETAGS).some((given) => opaqueTag(given) === opaqueTag(tag))
}

function opaqueTag(tag: string): string {
  return tag.trim().replace(/^W\//, '')
}

interface CachedResponse {
  bytes: number
  version: Version
  response: HttpResponse<never>
}

type Key = string | number
type Version = string | number

export interface ResponseCache {
  /** Undefined unless cached for exactly this version. */
  get(key: Key, version: Version): HttpResponse<never> | undefined
  /** Does not keep large ones. */
  set(key: Key, version: Version, response: HttpResponse<never>): void
}

// Approximate cost of an entry besides the body.
const ENTRY_BYTES = 500
// Longer than clients pause between two polls. Most of what is older belongs to versions and sessions that are gone.
const IDLE_MS = 20_000
// Larger ones would displace the lists of many others.
export const MAX_CACHED_BYTES = 128 * 1024

export function openResponseCache(maxBytes: number): ResponseCache {
  const cache = openLru<Key, CachedResponse>(maxBytes, {
    sizeOf: ({ bytes }) => bytes,
    idleMs: IDLE_MS,
  })

  return {
    get(key, version) {
      const cached = cache.get(key)
      return cached?.version === version ? cached.response : undefined
    },
    set(key, version, response) {
      const length = bodyBytes(response.body)
      if (length > MAX_CACHED_BYTES) return
      cache.set(key, { version, response, bytes: ENTRY_BYTES + length })
    },
  }
}
