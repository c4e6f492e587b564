/** The host name that an address is for; undefined where there are no forms to fill, as in pages of the browser. */
export function siteOf(url: string | undefined): string | undefined {
  if (!url || !URL.canParse(url)) return undefined
  const { protocol, hostname } = new URL(url)
  return /^https?:$/.test(protocol) ? hostname.replace(/^www\./, '') : undefined
}

/** The pattern that asks for access to a page or a server. Firefox knows no ports in patterns. */
export function patternOf(url: string): string {
  const { protocol, hostname } = new URL(url)
  return `${protocol}//${hostname}/*`
}

/** The URL of a server as we write it, from what was typed: https unless it says otherwise. Undefined if it is none. */
export function serverUrl(typed: string): string | undefined {
  const text = typed.trim()
  const full = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `https://${text}`
  if (!URL.canParse(full)) return undefined
  const { protocol, origin, pathname } = new URL(full)
  return /^https?:$/.test(protocol) ? `${origin}${pathname.replace(/\/+$/, '')}` : undefined
}
