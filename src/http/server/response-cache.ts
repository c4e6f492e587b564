import type { HttpResponse } from './response.ts'

/** An answer that has been made once, good as long as its mailbox has this version. */
interface KeptAnswer {
  version: Version
  answer: HttpResponse<never>
}

type Key = string | number
type Version = string | number

export interface ResponseCache {
  /** Undefined unless one was kept for exactly this version. */
  find(key: Key, version: Version): HttpResponse<never> | undefined
  keep(key: Key, version: Version, made: { answer: HttpResponse<never>; bytes: number }): void
}

// What an entry costs beside the body, roughly.
const ENTRY_BYTES = 500

/**
 * The answers that were asked for last, within a number of bytes. Two halves instead of a strict order: what is asked for
 * moves to the young half, and when that is full the old half is forgotten. A hit in the young half moves nothing.
 */
export function openResponseCache(maxBytes: number): ResponseCache {
  let young = new Map<Key, KeptAnswer & { bytes: number }>()
  let old = new Map<Key, KeptAnswer & { bytes: number }>()
  let youngBytes = 0

  function add(key: Key, kept: KeptAnswer & { bytes: number }): void {
    youngBytes += kept.bytes - (young.get(key)?.bytes ?? 0)
    young.set(key, kept)
    if (youngBytes <= maxBytes / 2) return
    old = young
    young = new Map()
    youngBytes = 0
  }

  return {
    find(key, version) {
      const recent = young.get(key)
      const kept = recent ?? old.get(key)
      if (kept?.version !== version) return undefined
      if (!recent) add(key, kept)
      return kept.answer
    },
    keep(key, version, { answer, bytes }) {
      add(key, { version, answer, bytes: bytes + ENTRY_BYTES })
    },
  }
}
