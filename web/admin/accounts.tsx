import type { ActionView } from '../site/action.tsx'
import { t } from '../site/i18n.ts'
import type { AdminAccount } from './api.ts'
import { listView } from './list.tsx'
import { calling } from './state.ts'
import { a, accountReason } from './texts.ts'

const HEALTHS = ['ok', 'slow', 'starting', 'failing'] as const
const TONES = { ok: 'good', slow: 'warn', starting: '', failing: 'bad' } as const

/** Gmail accounts. */
export const accountsView = listView('accounts', () => ({
  entry(account) {
    const { email, hindrance, reason, aliases } = account
    const health = HEALTHS.find((one) => one === account.health)
    return {
      name: email,
      badge: health ? [a(`admin_health_${health}`), TONES[health]] : [a('admin_inactive'), 'warn'],
      facts: [
        [a('admin_aliases'), aliases],
        [t('hook_reason'), accountReason(hindrance ?? reason)],
      ],
      actions: [changeAction(account)],
    }
  },
}))

function changeAction({ id, email, offered, hindrance }: AdminAccount): ActionView | false {
  const changing = (active: boolean, done: string) =>
    calling('POST /admin/api/accounts/change', { id: id ?? 0, active }, done)
  if (offered) {
    return {
      text: a('admin_deactivate'),
      confirm: a('admin_account_off_how', { email }),
      run: changing(false, a('admin_done_deactivated', { name: email })),
    }
  }
  return (
    hindrance === 'deactivated' && {
      text: a('admin_activate'),
      run: changing(true, a('admin_done_activated', { name: email })),
    }
  )
}
