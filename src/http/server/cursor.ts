import { Problem } from '../../core/problem.ts'

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
