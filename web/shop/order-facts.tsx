import type { Order } from '../site/shapes.ts'
import { timeWords } from '../site/time-words.ts'
import { say } from '../site/words.ts'
import { priceWords, soldTerm } from './price.ts'

interface OrderFactsProps {
  order: Order
  /** How the key begins that was minted since the order was looked at. */
  prefix: string | undefined
}

export function OrderFacts({ order, prefix }: OrderFactsProps) {
  const { plan_name: plan, price, paid_until_iso: until, order_id: id } = order
  const begins = prefix ?? order.key_prefix
  return (
    <dl class="facts">
      <dt>{say('shop_plan')}</dt>
      <dd>{plan}</dd>
      <dt>{say('shop_price')}</dt>
      <dd>
        {priceWords(price)} {soldTerm(price.term)}
      </dd>
      {begins !== null && (
        <>
          <dt>{say('shop_until')}</dt>
          <dd>{until === null ? say('shop_no_end') : timeWords(until)}</dd>
          <dt>{say('shop_prefix')}</dt>
          <dd>
            <code>{begins}</code>
          </dd>
        </>
      )}
      <dt>{say('shop_number')}</dt>
      <dd>
        <code>{id}</code>
      </dd>
    </dl>
  )
}
