import type { Message } from '../site/shapes.ts'

/** How a sender is written, so that nobody takes him for another. */
interface Written {
  /** What stands first. */
  title: string
  /** What stands behind it; none where it would say the same. */
  address: string | undefined
  /** The name that he gives himself, where it looks like the address of somebody else. */
  claims: string | undefined
}

export function written(name: string, address: string): Written {
  const plain = plainName(name)
  if (address === '') return { title: plain, address: undefined, claims: undefined }
  if (plain === '' || same(plain, address)) {
    return { title: address, address: undefined, claims: undefined }
  }
  if (looksLikeAnother(plain, address)) return { title: address, address: undefined, claims: plain }
  return { title: plain, address, claims: undefined }
}

/** The part behind the @, as the DNS knows it. */
export function domainOf(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  try {
    return new URL(`http://${domain}`).hostname
  } catch {
    return domain
  }
}

// Marks that take no room, or turn the text around: with them a name can be made to look like anything.
const UNSEEN =
  /[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3164\ufeff\uffa0]/g

function plainName(name: string): string {
  return name.replace(UNSEEN, '').replace(/\s+/g, ' ').trim()
}

function same(name: string, address: string): boolean {
  return name.replace(/^["'<\s]+|[">'\s]+$/g, '').toLowerCase() === address.toLowerCase()
}

// Anything that people read as an @, and the names of places.
const AT = /[@\uff20\ufe6b\u24d0]|\(at\)|\[at\]/i
const PLACE = /(?:^|[\s"'(<[/])((?:[\p{L}\p{N}-]+\.)+\p{L}{2,24})(?=$|[\s"')>\]/,:;])/giu

function looksLikeAnother(name: string, address: string): boolean {
  if (AT.test(name)) return true
  const domain = domainOf(address)
  return [...name.matchAll(PLACE)].some(([, place = '']) => {
    const named = domainOf(place.toLowerCase())
    return named !== domain && !domain.endsWith(`.${named}`)
  })
}

type Checks = NonNullable<Message['auth']>

/** `proven`: the domain's owner vouches for it; `forged`: he says that it is not his; `unproven`: nobody can tell. */
type Verdict = 'proven' | 'forged' | 'unproven'

export function verdictOf({ dmarc }: Pick<Checks, 'dmarc'>): Verdict {
  if (dmarc === 'pass') return 'proven'
  return dmarc === 'fail' ? 'forged' : 'unproven'
}

/** Nobody should be led on with one click by who only seems to be somebody. */
export function doubtful(message: Pick<Message, 'sender_name' | 'sender_email' | 'auth'>): boolean {
  const { sender_name: name, sender_email: address, auth } = message
  return (
    written(name, address).claims !== undefined || (auth !== null && verdictOf(auth) === 'forged')
  )
}
