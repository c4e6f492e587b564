/** Written into the page by the server. */
interface SiteConfig {
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

const json = document.body.dataset['facts']

export const siteConfig: SiteConfig = {
  life: 86_400,
  longest: 604_800,
  cooldown: 2_592_000,
  abuse: '',
  operator: '',
  checks: false,
  receipts: false,
  site: location.origin,
  ...(json ? (JSON.parse(json) as Partial<SiteConfig>) : {}),
}
