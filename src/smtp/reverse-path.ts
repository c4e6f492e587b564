import { isIPv6 } from 'node:net'

const MAX_PATH = 320

// RFC 5321 4.1.2, with RFC 6531 3.3. Underscores are tolerated in domains, and any length of the local part that fits.
const ATOM = "[\\w!#$%&'*+/=?^`{|}~\\u0080-\\u{10ffff}-]+"
const QUOTED = '"(?:[ !#-\\[\\]-~\\u0080-\\u{10ffff}]|\\\\[ -~])*"'
const LABEL = '[\\w\\u0080-\\u{10ffff}](?:[\\w\\u0080-\\u{10ffff}-]*[\\w\\u0080-\\u{10ffff}])?'
const DOMAIN = `${LABEL}(?:\\.${LABEL})*`
const LITERAL = '\\[[!-Z^-~]+\\]'
const ROUTE = `@(?:${DOMAIN}|${LITERAL})`
const PATH = new RegExp(
  `^(?:${ROUTE}(?:,${ROUTE})*:)?(?:${ATOM}(?:\\.${ATOM})*|${QUOTED})@(?:${DOMAIN}|(?<literal>${LITERAL}))$`,
  'u',
)

/** The empty path is that of a bounce. */
export function isReversePath(path: string): boolean {
  if (path === '') return true
  const found = path.length <= MAX_PATH ? PATH.exec(path) : null
  const literal = found?.groups?.['literal']
  return found !== null && (literal === undefined || isAddressLiteral(literal.slice(1, -1)))
}

/** Other forms need a tag that is registered; there is none. */
function isAddressLiteral(text: string): boolean {
  const ipv6 = /^ipv6:([\da-f:.]+)$/i.exec(text)?.[1]
  if (ipv6 !== undefined) return isIPv6(ipv6)
  return /^\d{1,3}(?:\.\d{1,3}){3}$/.test(text) && text.split('.').every((part) => +part <= 255)
}
