import { useState } from 'preact/hooks'
import { formatPrice } from '../../src/shared/plan-text.ts'
import { Confirmed } from '../site/confirmed.tsx'
import { formatShortTime } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { Badge, Entry, EntryList, FindForm } from './list.tsx'
import { type Action, call, type Response, useAction, useLoaded } from './state.ts'
import { a } from './texts.ts'

type Key = Response<'GET /admin/api/keys'>['keys'][number]
type Order = Response<'GET /admin/api/orders'>['orders'][number]

// The length of a prefix: of a whole key that was pasted, the rest must not end up in an address.
const PREFIX_LENGTH = 12

export function KeysView() {
  const [find, setFind] = useState<string | undefined>(undefined)
  const loaded = useLoaded('GET /admin/api/keys', { find })
  const action = useAction(loaded.reload)
  return (
    <>
      <FindForm
        label={a('admin_key_find')}
        onFind={({ find: text }) => {
          const [key] = /mf_\w+/.exec(text ?? '') ?? []
          setFind(key?.slice(0, PREFIX_LENGTH) ?? text)
        }}
      />
      <EntryList
        label={a('admin_view_keys')}
        loaded={loaded}
        entries={loaded.value?.keys}
        none={find === undefined ? a('admin_none') : a('admin_not_found')}
        action={action}
        keyOf={({ id }) => id}
      >
        {(key) => <KeyEntry of={key} action={action} />}
      </EntryList>
    </>
  )
}

const KEY_STATES = {
  active: { tone: 'good', text: () => t('key_state_active') },
  stopped: { tone: 'warn', text: () => t('key_state_stopped') },
  revoked: { tone: '', text: () => a('admin_key_revoked') },
} as const

function KeyEntry({ of: key, action }: { of: Key; action: Action }) {
  const { tone, text } = KEY_STATES[key.state]
  const all = key.requests.toLocaleString(language.value)
  const { id, prefix, created_at_iso: created, expires_at_iso: end } = key
  return (
    <Entry
      title={
        <>
          <code>{prefix}…</code> <bdi>{key.label}</bdi>
        </>
      }
      badges={<Badge tone={tone}>{text()}</Badge>}
      facts={[
        [t('shop_plan'), key.plan],
        [t('key_requests'), t('key_used', { count: key.used, all })],
        [a('admin_created'), created && formatShortTime(created)],
        [t('key_valid_until'), end === null ? t('key_never') : formatShortTime(end)],
        [a('admin_id'), id],
      ]}
      actions={
        key.state !== 'revoked' && (
          <Confirmed
            name={a('admin_key_revoke')}
            label={prefix}
            class="danger"
            disabled={action.isBusy}
            run={() =>
              action.run(
                () => call('POST /admin/api/keys/revoke', { id }),
                a('admin_done_revoked', { name: prefix }),
              )
            }
          >
            {a('admin_key_revoke_how', { key: prefix })}
          </Confirmed>
        )
      }
    />
  )
}

export function OrdersView() {
  const [id, setId] = useState<string | undefined>(undefined)
  const loaded = useLoaded('GET /admin/api/orders', { id })
  return (
    <>
      <FindForm label={a('admin_order_id')} onFind={({ find }) => setId(find)} />
      <EntryList
        label={a('admin_view_orders')}
        loaded={loaded}
        entries={loaded.value?.orders}
        none={id === undefined ? a('admin_none') : a('admin_not_found')}
        keyOf={({ id }) => id}
      >
        {(order) => <OrderEntry order={order} />}
      </EntryList>
    </>
  )
}

const ORDER_STATES = [
  'open',
  'pending',
  'paid',
  'failed',
  'expired',
  'refunded',
  'disputed',
] as const

function OrderEntry({ order }: { order: Order }) {
  const state = ORDER_STATES.find((one) => one === order.state)
  const price = formatPrice(order.price_cents, order.currency, language.value)
  const { created_at_iso: created, claimed_at_iso: claimed } = order
  return (
    <Entry
      title={<code>{order.id}</code>}
      badges={
        <Badge tone={state === 'paid' ? 'good' : ''}>
          {state ? t(`shop_state_${state}`) : order.state}
        </Badge>
      }
      facts={[
        [t('shop_plan'), order.plan],
        [t('shop_price'), price],
        [a('admin_email'), order.email],
        [a('admin_created'), created && formatShortTime(created)],
        [a('admin_order_payments'), order.payments],
        [a('admin_key'), order.key_prefix],
        [a('admin_order_claimed'), claimed && formatShortTime(claimed)],
      ]}
    />
  )
}
