import { t } from '../site/i18n.ts'
import { testText, webhookReason } from '../site/webhook-text.ts'
import { listView } from './list.tsx'
import { call, calling } from './state.ts'
import { a, timeText } from './texts.ts'

export const webhooksView = listView('webhooks', () => ({
  entry: ({ id, url, state, reason, ...webhook }) => ({
    key: id,
    name: url,
    title: <code class="admin-url">{url}</code>,
    badge: [t(`hook_${state}`), state === 'active' ? 'good' : 'bad'],
    facts: [
      [t('hook_reason'), reason && webhookReason(reason)],
      [a('admin_key'), webhook.key_id],
      [t('hook_address'), webhook.to],
      [t('hook_last'), timeText(webhook.last_delivery_at_iso)],
      [t('hook_next'), timeText(webhook.next_attempt_at_iso)],
      [t('hook_gap'), timeText(webhook.gap_since_iso)],
    ],
    actions: [
      {
        text: t('hook_test'),
        async run() {
          const { delivery } = await call('POST /admin/api/webhooks/{id}/test', { id })
          return testText(delivery)
        },
      },
      state !== 'active' && {
        text: t('hook_enable'),
        run: calling(
          'POST /admin/api/webhooks/{id}/enable',
          { id },
          a('admin_done_activated', { name: url }),
        ),
      },
      {
        text: t('hook_delete'),
        danger: true,
        confirm: t('hook_delete_how', { url }),
        run: calling(
          'POST /admin/api/webhooks/{id}/delete',
          { id },
          a('admin_done_deleted', { name: url }),
        ),
      },
    ],
  }),
}))
