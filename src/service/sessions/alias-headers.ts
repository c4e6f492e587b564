import type { Address } from '../../core/address.ts'
import { headerBlock, readFields, unfold } from '../../mime/header.ts'

const LOOKED_AT = ['Delivered-To', 'X-Original-To', 'To', 'Cc', 'Received']

/** Of the header fields by which fetched mail is matched: those that hold this address as it is written. */
export function aliasHeaders(raw: Uint8Array, alias: Address): string[] {
  const values = new Map<string, string>()
  for (const { key, value } of readFields(headerBlock(raw))) {
    values.set(key, `${values.get(key) ?? ''} ${unfold(value).toLowerCase()}`)
  }
  // Nothing that could belong to a longer address stands on either side.
  const whole = new RegExp(`(?<![^\\s<,:;"(])${RegExp.escape(alias)}(?![^\\s>,;")])`)
  return LOOKED_AT.filter((name) => whole.test(values.get(name.toLowerCase()) ?? ''))
}
