import { foldCase } from '../base/case-folding.ts'

/** An address, or a domain, which includes its subdomains. Case-folded. */
export type SenderPattern = string & { readonly brand: 'SenderPattern' }

// Length of an address: RFC 5321 4.5.3.1, with some tolerance.
export const MAX_PATTERN = 320

/** An address or a domain, of these characters of a local part and of a label. */
const syntax = (local: string, label: string) =>
  `(?:${local}+@)?(?:${label}+(?:\\.${label}+)*|\\[[\\w.:]+\\])`
const PATTERN = new RegExp(`^${syntax('[^\\s\\p{C}]', '[\\p{L}\\p{N}\\p{M}_-]')}$`, 'u')

/**
 * For documents: many validators do not know \p, so any character outside ASCII passes. In a list, the separator ends an entry.
 */
export const senderSyntax = (separator = '') =>
  syntax(`[^\\s${separator}\\x00-\\x1f\\x7f]`, '[^\\x00-,./:-@\\[-^`{-\\x7f]')

/** Undefined if the text is neither an address nor a domain. */
export function parseSenderPattern(text: string): SenderPattern | undefined {
  const given = text.trim()
  // First: folding takes long, and may also make it shorter or longer.
  if (given.length > MAX_PATTERN) return undefined
  const pattern = foldCase(given)
  const isValid = pattern.length <= MAX_PATTERN && PATTERN.test(pattern)
  return isValid ? (pattern as SenderPattern) : undefined
}

export function matchesSender(pattern: SenderPattern, sender: string): boolean {
  const address = foldCase(sender)
  if (pattern.includes('@')) return address === pattern
  const host = address.slice(address.lastIndexOf('@') + 1)
  return address.includes('@') && (host === pattern || host.endsWith(`.${pattern}`))
}
