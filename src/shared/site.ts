/** The links in the header of every page, each with its path and the name of its text. */
export const NAVIGATION = [
  ['inbox', '/', 'site_inbox'],
  ['plans', '/pricing', 'site_plans'],
  ['key', '/key', 'site_key'],
  ['docs', '/docs', 'site_docs'],
] as const

export type NavigationItem = (typeof NAVIGATION)[number][0]

/** What pages know about this installation; the server writes it into them. */
export interface SiteConfig {
  /** Default lifetime of an address, in seconds. */
  life: number
  /** Maximum lifetime from creation, with extensions, in seconds. */
  longest: number
  /** Seconds for which an expired address is reserved. */
  cooldown: number
  /** Address for abuse reports. */
  abuse: string
  /** Address of the operator; empty if there is no domain for it. */
  operator: string
  /** Whether senders are checked (SPF, DKIM, DMARC). */
  checks: boolean
  /** Whether buyers get receipts by mail. */
  receipts: boolean
  /** Base URL of the API. */
  site: string
}
