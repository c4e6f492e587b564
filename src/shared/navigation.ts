/** The links in the header of every page, each with its path and the name of its text. */
export const NAVIGATION = [
  ['inbox', '/', 'site_inbox'],
  ['plans', '/pricing', 'site_plans'],
  ['key', '/key', 'site_key'],
  ['docs', '/docs', 'site_docs'],
] as const

export type NavigationItem = (typeof NAVIGATION)[number][0]
