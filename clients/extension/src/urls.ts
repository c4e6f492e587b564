/** What an address is for: host and port, and the scheme unless it is https. Undefined in pages without forms, as those of the browser. */
export function siteOf(url: string | undefined): string | undefined {
  if (!url || !URL.canParse(url)) return undefined
  const { protocol, host } = new URL(url)
  const site = host.replace(/^www\./, '')
  if (protocol === 'http:') return `http://${site}`
  return protocol === 'https:' ? site : undefined
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
  const { protocol, origin, username, password, pathname } = new URL(full)
  if (!/^https?:$/.test(protocol) || username || password) return undefined
  return `${origin}${pathname.replace(/\/+$/, '')}`
}
