/** Why the part before the @ would be refused, as far as we know before asking. */
type NameFault = 'characters' | 'start' | 'end' | 'double' | 'long'

const LONGEST_NAME = 64

/** The server lower-cases it: show at once what will be. Blanks around it come from pasting. */
export function tidyName(typed: string): string {
  return typed.trim().toLowerCase()
}

/** Undefined for a good name, and for none: then the address is random. */
export function nameFault(typed: string): NameFault | undefined {
  // Before lower-casing: letters outside ASCII that lower-case into it (the Kelvin sign) are refused by the server.
  const name = typed.trim()
  if (/[^a-z0-9._-]/i.test(name) || /[^\x20-\x7e]/.test(name)) return 'characters'
  if (/^[._-]/.test(name)) return 'start'
  if (/[._-]{2}/.test(name)) return 'double'
  if (name.length > LONGEST_NAME) return 'long'
  return /[._-]$/.test(name) ? 'end' : undefined
}

/** A name that only lacks its next letter: nobody is told of a fault while still typing. */
export function isUnfinished(fault: NameFault | undefined): boolean {
  return fault === 'end'
}
