import { t } from './i18n.ts'

const BADGES = {
  pending: ['own_pending', 'warn'],
  active: ['hook_active', 'good'],
  suspended: ['own_suspended', 'bad'],
} as const

/** The state of a key holder's domain, with the tone of its badge. */
export function domainBadge(state: keyof typeof BADGES) {
  const [name, tone] = BADGES[state]
  return [t(name), tone] as const
}
