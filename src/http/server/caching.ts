import { hash } from 'node:crypto'
import { Problem } from '../../core/problem.ts'
import type { Session } from '../../core/session.ts'
import type { HttpResponse } from './response.ts'

/** Weak, because the same state may be written in other words. The id is in it: a revived session counts from 1 again. */
export function mailboxEtag({ id, version }: Session): string {
  return `W/"${id.toString(36)}-${version.toString(36)}"`
}

/** Of what a key may see. The mark is hashed, because it tells of mailboxes; the key is in it, so that no tag serves two. */
export function keyedEtag(
  { keyId, to }: { keyId: string; to: string | undefined },
  mark: string,
): string {
  return `W/"${hash('sha256', `${keyId} ${to ?? ''} ${mark}`, 'base64url').slice(0, 22)}"`
}

/** RFC 9110 13.1.2, with the weak comparison. */
export function matchesEtag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === tag || ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((given) => opaqueTag(given) === opaqueTag(tag))
}

function opaqueTag(tag: string): string {
  return tag.trim().replace(/^W\//, '')
}

// Opaque, so that nobody builds one by hand and finds himself broken when it changes.
const CURSOR = /^after ([1-9][0-9]{0,15})$/

/** Where a page after this record begins. */
export function cursorOf(lastId: number): string {
  return Buffer.from(`after ${lastId}`).toString('base64url')
}

export function parseCursor(cursor: string): number {
  const [, digits] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? []
  const id = Number(digits)
  if (Number.isSafeInteger(id) && cursorOf(id) === cursor) return id
  throw new Problem('invalid_parameter', 'cursor: take it from the Link of the page before.')
}

/** An answer that has been made once, good as long as its mailbox has this version. */
interface CachedResponse {
  version: Version
  answer: HttpResponse<never>
}

type Key = string | number
type Version = string | number

export interface ResponseCache {
  /** Undefined unless one was kept for exactly this version. */
  get(key: Key, version: Version): HttpResponse<never> | undefined
  set(key: Key, version: Version, made: { answer: HttpResponse<never>; bytes: number }): void
}

// What an entry costs beside the body, roughly.
const ENTRY_BYTES = 500

/**
 * The answers that were asked for last, within a number of bytes. Two halves instead of a strict order: what is asked for
 * moves to the young half, and when that is full the old half is forgotten. A hit in the young half moves nothing.
 */
export function openResponseCache(maxBytes: number): ResponseCache {
  let young = new Map<Key, CachedResponse & { bytes: number }>()
  let old = new Map<Key, CachedResponse & { bytes: number }>()
  let youngBytes = 0

  function add(key: Key, kept: CachedResponse & { bytes: number }): void {
    youngBytes += kept.bytes - (young.get(key)?.bytes ?? 0)
    young.set(key, kept)
    if (youngBytes <= maxBytes / 2) return
    old = young
    young = new Map()
    youngBytes = 0
  }

  return {
    get(key, version) {
      const recent = young.get(key)
      const kept = recent ?? old.get(key)
      if (kept?.version !== version) return undefined
      if (!recent) add(key, kept)
      return kept.answer
    },
    set(key, version, { answer, bytes }) {
      add(key, { version, answer, bytes: bytes + ENTRY_BYTES })
    },
  }
}
