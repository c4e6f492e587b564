/** Where a link really leads, as the browser will read it. */
export type Where =
  | {
      kind: 'web'
      href: string
      /** In ASCII, with the port where it is not the usual one. */
      host: string
      /** What a reader should know before he goes there. */
      doubts: Doubt[]
    }
  | { kind: 'mail'; address: string }
  | { kind: 'other'; scheme: string; href: string }
  | { kind: 'broken' }

/** `userinfo`: something stands before the host and looks like one; `letters`: the host is not written in plain ones. */
export type Doubt = 'userinfo' | 'letters' | 'number' | 'port' | 'open'

const MAX_LENGTH = 32_768

export function where(text: string): Where {
  const url = text.length > MAX_LENGTH ? undefined : parsed(text)
  if (!url) return { kind: 'broken' }
  const { protocol, host, href } = url
  if (protocol === 'http:' || protocol === 'https:') {
    return { kind: 'web', href, host, doubts: doubtsOf(url) }
  }
  if (protocol === 'mailto:') return { kind: 'mail', address: addressOf(url) }
  return { kind: 'other', scheme: protocol.slice(0, -1), href }
}

/** Our own page that shows it; what stands behind the # is seen by no server. */
export function leavePath(url: string, page = '/leave'): string {
  return `${page}#${encodeURIComponent(url)}`
}

/** A mail lies nowhere: what is not whole by itself leads nowhere. */
export function parsed(text: string): URL | undefined {
  const value = text.trim()
  try {
    return new URL(value.startsWith('//') ? `https:${value}` : value)
  } catch {
    return undefined
  }
}

function doubtsOf({ protocol, username, password, hostname, port }: URL): Doubt[] {
  const found: Record<Doubt, boolean> = {
    userinfo: username !== '' || password !== '',
    letters: /(?:^|\.)xn--/.test(hostname),
    number: /^[\d.]+$|^\[/.test(hostname),
    port: port !== '',
    open: protocol === 'http:',
  }
  return (Object.keys(found) as Doubt[]).filter((doubt) => found[doubt])
}

/** Only the first address: what a mail program would be told besides is none of the reader's wishes. */
function addressOf({ pathname }: URL): string {
  const first = pathname.split(',')[0] ?? ''
  try {
    const address = decodeURIComponent(first)
    // Marks that turn the text around or take no room stay spelt out.
    return /[\p{Cc}\p{Cf}]/u.test(address) ? first : address
  } catch {
    return first
  }
}
