const NAVIGATION = [
  ['inbox', '/', 'site_inbox'],
  ['plans', '/pricing', 'site_plans'],
  ['key', '/key', 'site_key'],
  ['docs', '/docs', 'site_docs'],
] as const

export type NavigationItem = (typeof NAVIGATION)[number][0]

/** The links in the header of every page, each with its path and the name of its text. Those of the shop only if it sells. */
export function navigation(isShopOpen: boolean) {
  return NAVIGATION.filter(([item]) => isShopOpen || (item !== 'plans' && item !== 'key'))
}

/** The background of the pages, as in web/site/styles/colours.css. */
export const THEME_COLOURS = { light: '#fdfdfb', dark: '#14181b' } as const

/** Whether its domain exists only in examples and tests (RFC 2606), so that mail from the Internet cannot reach it. */
export function isExampleAddress(email: string): boolean {
  return /[.@](?:example|test|invalid|localhost)$/.test(email)
}

/** What pages know about this installation; the server writes it into them. */
export interface SiteConfig {
  /** Default lifetime of an address, in seconds. */
  life: number
  /** Maximum lifetime from creation, with extensions, in seconds. */
  longest: number
  /** Cool-down of an expired address, in seconds. */
  cooldown: number
  /** Address for abuse reports. */
  abuse: string
  /** Address of the operator; empty if there is no domain for it. */
  operator: string
  /** Whether senders are checked (SPF, DKIM, DMARC). */
  checks: boolean
  /** Whether buyers get receipts by mail. */
  receipts: boolean
  /** Whether plans are sold online. */
  shop: boolean
  /** Whether key holders can add domains of their own. */
  ownDomains: boolean
  /** How long mail at such domains is kept, in seconds. */
  ownMailLife: number
  /** Base URL of the API. */
  site: string
}
