import { isIP } from 'node:net'
import { domainToUnicode } from 'node:url'
import { type Host, parseHost } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'

/** `_mayfly.` must still fit before it. */
const MAX_LENGTH = 245
const MAX_LABEL = 63

/** The name of a domain that a key can have, in A-labels. Throws `invalid_domain`. */
export async function parseOwnDomain(given: string): Promise<Host> {
  // As zone files and many forms write it.
  const text = given.replace(/(?<=[^.])\.$/, '')
  if (isIP(text.replace(/^\[(?:ipv6:)?|\]$/gi, '')) !== 0) {
    throw invalid('an IP address is not a domain name.')
  }
  if (text.includes('*')) throw invalid('a wildcard is not possible; give one name.')
  const name = parseHost(text)
  if (text.length > MAX_LENGTH || (name ?? '').length > MAX_LENGTH) {
    throw invalid(`at most ${MAX_LENGTH} characters are allowed.`)
  }
  if (text.split('.').some((label) => label.length > MAX_LABEL)) {
    throw invalid(`each part has at most ${MAX_LABEL} characters.`)
  }
  if (!name || name.includes('_')) throw invalid('give a name such as mail.example.com.')
  if (!name.includes('.')) throw invalid('one label is not enough; give a name with a dot.')
  if ((await publicSuffix(name)) === name) {
    throw invalid(`${unicodeName(name)} is a public suffix, below which others register names.`)
  }
  return name
}

/** The longest suffix below which others register names, such as co.uk or github.io. */
export async function publicSuffix(name: Host): Promise<string | null> {
  // Loaded when needed: the list takes memory in every thread.
  const { getPublicSuffix } = await import('tldts')
  return getPublicSuffix(name, { allowPrivateDomains: true })
}

/** In U-labels, for people. */
export function unicodeName(name: Host): string {
  return domainToUnicode(name) || name
}

function invalid(why: string): Problem {
  return new Problem('invalid_domain', `domain: ${why}`)
}
