// Our parser looks for the colon in the first 256 bytes.
const FIELD_START = /^[!-9;-~]+[ \t]{0,200}:/
const BROKEN_FOLD = /\n[^ \t]/

/**
 * False for a field that mailauth reads and our parser does not, or not to its end: mailauth also joins lines without a leading
 * blank. RFC 6376 3.8: verifiers should make sure that a mail is valid by RFC 5322.
 */
export function isWellFormed(field: Buffer): boolean {
  const text = field.toString('latin1')
  return FIELD_START.test(text) && !BROKEN_FOLD.test(text)
}
