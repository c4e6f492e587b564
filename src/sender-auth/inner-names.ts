/** Names that mean something only within a network, or never anything. */
const INNER = new Set([
  'alt',
  'corp',
  'home',
  'internal',
  'intranet',
  'invalid',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'onion',
  'private',
])

/**
 * Strangers choose the names that we ask for, and see what comes of it. Names of the operator's own network are not
 * asked for: the answers would tell which there are.
 */
export function isInnerName(name: string): boolean {
  const labels = name.toLowerCase().replace(/\.$/, '').split('.')
  const last = labels.at(-1) ?? ''
  return labels.length < 2 || INNER.has(last) || labels.slice(-2).join('.') === 'home.arpa'
}
