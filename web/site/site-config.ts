import type { SiteConfig } from '../../src/shared/site.ts'

const json = document.body.dataset['facts']

export const siteConfig: SiteConfig = {
  life: 86_400,
  longest: 604_800,
  cooldown: 2_592_000,
  abuse: '',
  operator: '',
  checks: false,
  receipts: false,
  shop: false,
  ownDomains: false,
  ownMailLife: 2_592_000,
  site: location.origin,
  ...(json ? (JSON.parse(json) as Partial<SiteConfig>) : {}),
}
