/** Where a link really leads, as the browser will read it. */
export type LinkTarget =
  | {
      kind: 'web'
      href: string
      /** In ASCII, with the port where it is not the usual one. */
      host: string
      /** What a reader should know before he goes there. */
      warnings: LinkWarning[]
    }
  | { kind: 'mail'; address: string }
  | { kind: 'other'; scheme: string; href: string }
  | { kind: 'broken' }

/** `userinfo`: something stands before the host and looks like one; `letters`: the host is not written in plain ones. */
export type LinkWarning = 'userinfo' | 'letters' | 'number' | 'port' | 'open'

const MAX_LENGTH = 32_768

export function parseLink(text: string): LinkTarget {
  const url = text.length > MAX_LENGTH ? undefined : parseUrl(text)
  if (!url) return { kind: 'broken' }
  const { protocol, host, href } = url
  if (protocol === 'http:' || protocol === 'https:') {
    return { kind: 'web', href, host, warnings: warningsOf(url) }
  }
  if (protocol === 'mailto:') return { kind: 'mail', address: mailtoAddress(url) }
  return { kind: 'other', scheme: protocol.slice(0, -1), href }
}

/** Our own page that shows it; what stands behind the # is seen by no server. */
export function leavePath(url: string, page = '/leave'): string {
  return `${page}#${encodeURIComponent(url)}`
}

/** A mail lies nowhere: what is not whole by itself leads nowhere. */
export function parseUrl(text: string): URL | undefined {
  const value = text.trim()
  try {
    return new URL(value.startsWith('//') ? `https:${value}` : value)
  } catch {
    return undefined
  }
}

function warningsOf({ protocol, username, password, hostname, port }: URL): LinkWarning[] {
  const found: Record<LinkWarning, boolean> = {
    userinfo: username !== '' || password !== '',
    letters: /(?:^|\.)xn--/.test(hostname),
    number: /^[\d.]+$|^\[/.test(hostname),
    port: port !== '',
    open: protocol === 'http:',
  }
  return (Object.keys(found) as LinkWarning[]).filter((doubt) => found[doubt])
}

/** Only the first address: what a mail program would be told besides is none of the reader's wishes. */
function mailtoAddress({ pathname }: URL): string {
  const first = pathname.split(',')[0] ?? ''
  try {
    const address = decodeURIComponent(first)
    // Marks that turn the text around or take no room stay spelt out.
    return /[\p{Cc}\p{Cf}]/u.test(address) ? first : address
  } catch {
    return first
  }
}

/** What is said of each doubt about a link. */
export const WARNING_TEXTS = {
  userinfo: 'leave_userinfo',
  letters: 'leave_letters',
  number: 'leave_number',
  port: 'leave_port',
  open: 'leave_open_line',
} as const satisfies Record<LinkWarning, string>
