/** What the server wrote into the page about this installation. */
interface SiteConfig {
  /** Life of a new address, in seconds. */
  life: number
  /** The furthest an address reaches from its creation, however often it is extended, in seconds. */
  longest: number
  /** For so many seconds after its end an address is given to nobody else. */
  cooldown: number
  /** Where abuse is told. */
  abuse: string
  /** Where the operator is written to; empty where there is no domain to take it. */
  operator: string
  /** Whether senders are checked: only then is it worth asking again for the outcome. */
  checks: boolean
  /** Whether buyers get a receipt by mail. */
  receipts: boolean
  /** How programs reach this site. */
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
