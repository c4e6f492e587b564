/** How a sender is written, so that nobody takes him for another; web/reader/sender.ts does the same. */
interface ShownSender {
  /** What stands first; empty where nobody is named at all. */
  title: string
  /** What stands behind it; none where it would say the same. */
  address: string | undefined
  /** The name that he gives himself, where it looks like the address of somebody else. */
  claims: string | undefined
}

export function shownSender(name: string, address: string): ShownSender {
  const plain = name.replace(UNSEEN, '').replace(/\s+/g, ' ').trim()
  if (address === '') return { title: plain, address: undefined, claims: undefined }
  if (plain === '' || same(plain, address)) {
    return { title: address, address: undefined, claims: undefined }
  }
  if (looksLikeAnother(plain, address)) return { title: address, address: undefined, claims: plain }
  return { title: plain, address, claims: undefined }
}

// Marks that take no room, or turn the text around: with them a name can be made to look like anything.
const UNSEEN =
  /[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3164\ufeff\uffa0]/g
// Anything that people read as an @, and the names of places.
const AT = /[@\uff20\ufe6b\u24d0]|\(at\)|\[at\]/i
const PLACE = /(?:^|[\s"'(<[/])((?:[\p{L}\p{N}-]+\.)+\p{L}{2,24})(?=$|[\s"')>\]/,:;])/giu

function same(name: string, address: string): boolean {
  return name.replace(/^["'<\s]+|[">'\s]+$/g, '').toLowerCase() === address.toLowerCase()
}

function looksLikeAnother(name: string, address: string): boolean {
  if (AT.test(name)) return true
  const domain = domainOf(address)
  return [...name.matchAll(PLACE)].some(([, place = '']) => {
    const named = domainOf(place.toLowerCase())
    return named !== domain && !domain.endsWith(`.${named}`)
  })
}

/** The part behind the @, as the DNS knows it. */
function domainOf(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1)
  return URL.parse(`http://${domain}`)?.hostname ?? domain
}
