import { foldCase } from '../base/case-folding.ts'

/** An address, or a domain, which includes its subdomains. Case-folded. */
export type SenderPattern = string & { readonly brand: 'SenderPattern' }

// Length of an address: RFC 5321 4.5.3.1, with some tolerance.
const MAX_PATTERN = 320
const HOST = /^(?:[\p{L}\p{N}\p{M}_-]+(?:\.[\p{L}\p{N}\p{M}_-]+)*|\[[\w.:]+\])$/u
const LOCAL = /^[^\s\p{C}]+$/u

/** Undefined if the text is neither an address nor a domain. */
export function parseSenderPattern(text: string): SenderPattern | undefined {
  const given = text.trim()
  // First: folding takes long, and may also make it shorter or longer.
  if (given.length > MAX_PATTERN) return undefined
  const pattern = foldCase(given)
  const at = pattern.lastIndexOf('@')
  const isValid = HOST.test(pattern.slice(at + 1)) && (at < 0 || LOCAL.test(pattern.slice(0, at)))
  return isValid && pattern.length <= MAX_PATTERN ? (pattern as SenderPattern) : undefined
}

export function matchesSender(pattern: SenderPattern, sender: string): boolean {
  const address = foldCase(sender)
  if (pattern.includes('@')) return address === pattern
  const host = address.slice(address.lastIndexOf('@') + 1)
  return address.includes('@') && (host === pattern || host.endsWith(`.${pattern}`))
}
