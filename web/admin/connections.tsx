import { useState } from 'preact/hooks'
import { Confirmed } from '../site/confirmed.tsx'
import { Button } from '../site/controls.tsx'
import { formatShortTime } from '../site/format.ts'
import { t } from '../site/i18n.ts'
import { Badge, Entry, EntryList } from './list.tsx'
import { type Action, call, type Response, useAction, useLoaded } from './state.ts'
import { a, accountReason, labelText } from './texts.ts'

// Gmail accounts and webhooks.

type Account = Response<'GET /admin/api/accounts'>['accounts'][number]
type Webhook = Response<'GET /admin/api/webhooks'>['webhooks'][number]

export function AccountsView() {
  const loaded = useLoaded('GET /admin/api/accounts')
  const action = useAction(loaded.reload)
  return (
    <EntryList
      label={a('admin_view_accounts')}
      loaded={loaded}
      entries={loaded.value?.accounts}
      action={action}
      keyOf={({ email }) => email}
    >
      {(account) => <AccountEntry account={account} action={action} />}
    </EntryList>
  )
}

const HEALTHS = {
  ok: 'good',
  slow: 'warn',
  starting: '',
  failing: 'bad',
} as const

function AccountEntry({ account, action }: { account: Account; action: Action }) {
  const { id, email, offered, hindrance, reason, aliases } = account
  const health = (Object.keys(HEALTHS) as (keyof typeof HEALTHS)[]).find(
    (one) => one === account.health,
  )
  const change = (active: boolean) =>
    action.run(
      () => call('POST /admin/api/accounts/change', { id: id ?? 0, active }),
      a(active ? 'admin_done_activated' : 'admin_done_deactivated', { name: email }),
    )
  return (
    <Entry
      title={<bdi dir="ltr">{email}</bdi>}
      badges={
        health ? (
          <Badge tone={HEALTHS[health]}>{a(`admin_health_${health}`)}</Badge>
        ) : (
          <Badge tone="warn">{a('admin_inactive')}</Badge>
        )
      }
      facts={[
        [a('admin_aliases'), aliases],
        [t('hook_reason'), accountReason(hindrance ?? reason)],
      ]}
      actions={
        offered ? (
          <Confirmed
            name={a('admin_deactivate')}
            label={email}
            disabled={action.isBusy}
            run={() => change(false)}
          >
            {a('admin_account_off_how', { email })}
          </Confirmed>
        ) : (
          hindrance === 'deactivated' && (
            <Button
              class="plain"
              disabled={action.isBusy}
              aria-label={`${a('admin_activate')}: ${email}`}
              onClick={() => void change(true)}
            >
              {a('admin_activate')}
            </Button>
          )
        )
      }
    />
  )
}

export function WebhooksView() {
  const loaded = useLoaded('GET /admin/api/webhooks')
  const action = useAction(loaded.reload)
  return (
    <EntryList
      label={a('admin_view_webhooks')}
      loaded={loaded}
      entries={loaded.value?.webhooks}
      action={action}
      keyOf={({ id }) => id}
    >
      {(webhook) => <WebhookEntry webhook={webhook} action={action} />}
    </EntryList>
  )
}

function WebhookEntry({ webhook, action }: { webhook: Webhook; action: Action }) {
  const { id, url, state, reason } = webhook
  const { last_delivery_at_iso: last, next_attempt_at_iso: next, gap_since_iso: gap } = webhook
  const [tested, setTested] = useState('')
  const test = () =>
    action.run(async () => {
      const { delivery } = await call('POST /admin/api/webhooks/{id}/test', { id })
      const result = delivery.error ? labelText(delivery.error) : String(delivery.status)
      setTested(t('hook_tested', { result, ms: delivery.ms }))
    })
  return (
    <Entry
      title={<code class="admin-url">{url}</code>}
      badges={<Badge tone={state === 'active' ? 'good' : 'bad'}>{t(`hook_${state}`)}</Badge>}
      facts={[
        [t('hook_reason'), reason && labelText(reason)],
        [a('admin_key'), webhook.key_id],
        [t('hook_address'), webhook.to],
        [t('hook_last'), last && formatShortTime(last)],
        [t('hook_next'), next && formatShortTime(next)],
        [t('hook_gap'), gap && formatShortTime(gap)],
      ]}
      actions={
        <>
          <Button
            class="plain"
            disabled={action.isBusy}
            aria-label={`${t('hook_test')}: ${url}`}
            onClick={() => void test()}
          >
            {t('hook_test')}
          </Button>
          {state !== 'active' && (
            <Button
              class="plain"
              disabled={action.isBusy}
              aria-label={`${t('hook_enable')}: ${url}`}
              onClick={() =>
                void action.run(
                  () => call('POST /admin/api/webhooks/{id}/enable', { id }),
                  a('admin_done_activated', { name: url }),
                )
              }
            >
              {t('hook_enable')}
            </Button>
          )}
          <Confirmed
            name={t('hook_delete')}
            label={url}
            class="danger"
            disabled={action.isBusy}
            run={() =>
              action.run(
                () => call('POST /admin/api/webhooks/{id}/delete', { id }),
                a('admin_done_deleted', { name: url }),
              )
            }
          >
            {t('hook_delete_how', { url })}
          </Confirmed>
        </>
      }
    >
      <p role="status" class="soft">
        {tested}
      </p>
    </Entry>
  )
}
