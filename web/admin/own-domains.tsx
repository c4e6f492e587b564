import { domainBadge } from '../site/domain-badge.ts'
import { language, t } from '../site/i18n.ts'
import { listView } from './list.tsx'
import { calling } from './state.ts'
import { a, labelText, timeText } from './texts.ts'

/** The domains of key holders, never their mail. */
export const ownDomainsView = listView('own-domains', () => ({
  entry: (domain) => {
    const { id, unicode: name, state, reason } = domain
    const isOff = reason === 'suspended_by_operator'
    return {
      key: id,
      name,
      badge: domainBadge(domain),
      facts: [
        [t('hook_reason'), reason && labelText(reason)],
        [a('admin_own_suspends'), timeText(domain.suspends_at_iso)],
        [a('admin_key'), domain.key_id],
        [t('own_taken'), domain.taken.toLocaleString(language.value)],
        [t('own_refused'), domain.refused.toLocaleString(language.value)],
        [a('admin_created'), timeText(domain.created_at_iso)],
        [t('own_checked'), timeText(domain.checked_at_iso)],
      ],
      actions: [
        state !== 'pending' &&
          (isOff
            ? {
                text: a('admin_activate'),
                run: calling(
                  'POST /admin/api/own-domains/{id}/resume',
                  { id },
                  a('admin_done_activated', { name }),
                ),
              }
            : {
                text: a('admin_deactivate'),
                confirm: a('admin_own_off_how', { name }),
                run: calling(
                  'POST /admin/api/own-domains/{id}/suspend',
                  { id },
                  a('admin_done_deactivated', { name }),
                ),
              }),
        {
          text: a('admin_remove'),
          danger: true,
          confirm: a('admin_own_remove_how', { name }),
          run: calling(
            'POST /admin/api/own-domains/{id}/delete',
            { id },
            a('admin_done_removed', { name }),
          ),
        },
      ],
    }
  },
}))
