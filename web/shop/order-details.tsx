import { formatPrice, translateTerm } from '../../src/shared/plan-text.ts'
import type { Order } from '../site/api.ts'
import { Facts } from '../site/facts.tsx'
import { formatDateTime } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'

interface OrderDetailsProps {
  order: Order
  /** Prefix of a key that was claimed after the order was loaded. */
  prefix: string | undefined
}

export function OrderDetails({ order, prefix }: OrderDetailsProps) {
  const { plan_name: plan, price, paid_until_iso: until, order_id: id } = order
  const keyPrefix = prefix ?? order.key_prefix
  const term = translateTerm(price.term, t)
  return (
    <Facts
      facts={[
        [t('shop_plan'), plan],
        [
          t('shop_price'),
          <span key="price">
            <bdi dir="ltr">{formatPrice(price.cents, price.currency, language.value)}</bdi> {term}
          </span>,
        ],
        [
          t('key_valid_until'),
          keyPrefix && (until === null ? t('key_never') : formatDateTime(until)),
        ],
        [t('key_prefix'), keyPrefix && <code key="prefix">{keyPrefix}</code>],
        [t('shop_order_id'), <code key="id">{id}</code>],
      ]}
    />
  )
}

const NEXT_STEPS = ['pending', 'failed', 'expired', 'refunded', 'disputed'] as const

/** What the buyer can do, or wait for. What is rare comes in the API's own words: a key revoked, a site in test mode. */
export function nextStepText(order: Order): string {
  const { state, url, claimable, claimed_at: claimedAt, next } = order
  if (claimable) return t(claimedAt === null ? 'shop_next_paid' : 'shop_next_claimed')
  if (state === 'open' && url !== null) return t('shop_next_open')
  const known = NEXT_STEPS.find((one) => one === state)
  return known ? t(`shop_next_${known}`) : next
}

export function stateTone({ state }: Order): 'good' | 'bad' | '' {
  if (state === 'paid') return 'good'
  return state === 'open' || state === 'pending' ? '' : 'bad'
}
