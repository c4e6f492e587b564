/** Where a link leads, as browsers parse it. */
export type LinkTarget =
  | {
      kind: 'web'
      href: string
      /** In ASCII, with the port unless it is the default. */
      host: string
      warnings: LinkWarning[]
    }
  | { kind: 'mail'; address: string }
  | { kind: 'other'; scheme: string; href: string }
  | { kind: 'broken' }

/** Named like their texts, `leave_…`. `userinfo`: text before an @ that may look like a host; `lookalikes`: non-ASCII host. */
export type LinkWarning = 'userinfo' | 'lookalikes' | 'ip' | 'port' | 'unencrypted'

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

/** Our page that shows the target first. Browsers do not send the fragment to a server. */
export function leavePath(url: string, page = '/leave'): string {
  return `${page}#${encodeURIComponent(url)}`
}

/** A mail has no base URL, so a relative link is broken. */
export function parseUrl(text: string): URL | undefined {
  const url = text.trim().replace(/^\/\//, 'https://')
  return URL.canParse(url) ? new URL(url) : undefined
}

/** Percent-decoded, or unchanged if that is not possible. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function warningsOf({ protocol, username, password, hostname, port }: URL): LinkWarning[] {
  const warnings: Record<LinkWarning, boolean> = {
    userinfo: username !== '' || password !== '',
    lookalikes: /(?:^|\.)xn--/.test(hostname),
    ip: /^[\d.]+$|^\[/.test(hostname),
    port: port !== '',
    unencrypted: protocol === 'http:',
  }
  return (Object.keys(warnings) as LinkWarning[]).filter((name) => warnings[name])
}

const HOST = /^(?:https?:\/\/)?((?:[a-z0-9-]+\.)+[a-z]{2,})(?:[/?#:]|$)/i

/** The host that the text of a link names, if the link leads to another one. */
export function otherHost(text: string, host: string): string | undefined {
  const named = HOST.exec(text.trim())?.[1]?.toLowerCase()
  if (named === undefined) return undefined
  const [bare, target] = [named, host.toLowerCase()].map((one) => one.replace(/^www\.|:\d+$/g, ''))
  return bare === target || target?.endsWith(`.${bare}`) ? undefined : named
}

/** The first address only: a sender could set subject, body or attachments as well. */
function mailtoAddress({ pathname }: URL): string {
  const first = pathname.split(',')[0] ?? ''
  const address = percentDecoded(first)
  // Invisible characters and bidi marks stay percent-encoded.
  return /[\p{Cc}\p{Cf}]/u.test(address) ? first : address
}
