import { t } from './i18n.ts'

const BADGES = {
  pending: ['own_pending', 'warn'],
  active: ['hook_active', 'good'],
  suspended: ['own_suspended', 'bad'],
} as const

/** The state of a key holder's domain, with the tone of its badge: a warning if it is about to be suspended. */
export function domainBadge(domain: {
  state: keyof typeof BADGES
  suspends_at_iso: string | null
}) {
  const [name, tone] = BADGES[domain.state]
  return [t(name), domain.suspends_at_iso === null ? tone : 'warn'] as const
}
