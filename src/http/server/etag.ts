import { hash } from 'node:crypto'
import { Problem } from '../../core/problem.ts'
import type { Session } from '../../core/session.ts'

/** Weak, because the same state may be written in other words. The id is in it: a revived session counts from 1 again. */
export function mailboxTag({ id, version }: Session): string {
  return `W/"${id.toString(36)}-${version.toString(36)}"`
}

/** Of what a key may see. The mark is hashed, because it tells of mailboxes; the key is in it, so that no tag serves two. */
export function readerTag(
  { keyId, to }: { keyId: string; to: string | undefined },
  mark: string,
): string {
  return `W/"${hash('sha256', `${keyId} ${to ?? ''} ${mark}`, 'base64url').slice(0, 22)}"`
}

/** RFC 9110 13.1.2, with the weak comparison. */
export function matchesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === tag || ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((given) => plain(given) === plain(tag))
}

function plain(tag: string): string {
  return tag.trim().replace(/^W\//, '')
}

// Opaque, so that nobody builds one by hand and finds himself broken when it changes.
const FORM = /^after ([1-9][0-9]{0,15})$/

/** Where a page after this record begins. */
export function cursorOf(lastId: number): string {
  return Buffer.from(`after ${lastId}`).toString('base64url')
}

export function parseCursor(cursor: string): number {
  const [, digits] = FORM.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? []
  const id = Number(digits)
  if (Number.isSafeInteger(id) && cursorOf(id) === cursor) return id
  throw new Problem('invalid_parameter', 'cursor: take it from the Link of the page before.')
}
