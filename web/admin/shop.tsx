import { formatPrice } from '../../src/shared/plan-text.ts'
import { knownText, language, t } from '../site/i18n.ts'
import { listView } from './list.tsx'
import { calling } from './state.ts'
import { a, timeText } from './texts.ts'

// The length of a prefix: of a whole key that was pasted, the rest must not end up in an address.
const PREFIX_LENGTH = 12

const KEY_TONES = { active: 'good', stopped: 'warn', revoked: '' } as const

export const keysView = listView('keys', () => ({
  find: [{ name: 'find', label: a('admin_key_find') }],
  findValues({ find }) {
    const [key] = /mf_\w+/.exec(String(find)) ?? []
    return { find: key?.slice(0, PREFIX_LENGTH) ?? find }
  },
  entry: ({ id, prefix, state, ...key }) => ({
    key: id,
    name: prefix,
    title: (
      <>
        <code>{prefix}…</code> <bdi>{key.label}</bdi>
      </>
    ),
    badge: [
      state === 'revoked' ? a('admin_key_revoked') : t(`key_state_${state}`),
      KEY_TONES[state],
    ],
    facts: [
      [t('shop_plan'), key.plan],
      [
        t('key_requests'),
        t('key_used', { count: key.used, all: key.requests.toLocaleString(language.value) }),
      ],
      [a('admin_created'), timeText(key.created_at_iso)],
      [t('key_valid_until'), timeText(key.expires_at_iso) ?? t('key_never')],
      [a('admin_id'), id],
    ],
    actions: [
      state !== 'revoked' && {
        text: a('admin_key_revoke'),
        danger: true,
        confirm: a('admin_key_revoke_how', { key: prefix }),
        run: calling(
          'POST /admin/api/keys/revoke',
          { id },
          a('admin_done_revoked', { name: prefix }),
        ),
      },
    ],
  }),
}))

export const ordersView = listView('orders', () => ({
  find: [{ name: 'id', label: a('admin_order_id') }],
  entry: (order) => ({
    name: order.id,
    title: <code>{order.id}</code>,
    badge: [knownText('shop_state_', order.state), order.state === 'paid' ? 'good' : ''],
    facts: [
      [t('shop_plan'), order.plan],
      [t('shop_price'), formatPrice(order.price_cents, order.currency, language.value)],
      [a('admin_email'), order.email],
      [a('admin_created'), timeText(order.created_at_iso)],
      [a('admin_order_payments'), order.payments],
      [a('admin_key'), order.key_prefix],
      [a('admin_order_claimed'), timeText(order.claimed_at_iso)],
    ],
  }),
}))
