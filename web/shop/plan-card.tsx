import type { Plan } from '../site/shapes.ts'
import { say } from '../site/words.ts'
import { buying } from './buy.ts'
import { priceWords, termWords, validityWords } from './price.ts'

interface PlanCardProps {
  plan: Plan
  /** Undefined where nothing is sold. */
  onBuy: ((plan: string) => void) | undefined
}

export function PlanCard({ plan, onBuy }: PlanCardProps) {
  const { id, name, price } = plan
  return (
    <section class="card" aria-labelledby={`plan-${id}`}>
      <h2 id={`plan-${id}`}>{name}</h2>
      <p class="price">
        {priceWords(price)} <span>{termWords(plan)}</span>
      </p>
      <ul>
        {featuresOf(plan).map((feature) => (
          <li key={feature}>
            <bdi>{feature}</bdi>
          </li>
        ))}
      </ul>
      {onBuy && (
        <button type="button" disabled={buying.value} onClick={() => onBuy(id)}>
          {say('shop_buy', { plan: name })}
        </button>
      )}
    </section>
  )
}

function featuresOf({ requests, per_day: perDay, months, renews, support }: Plan): string[] {
  return [
    say('shop_requests', { count: requests }),
    perDay === null ? say('shop_no_daily_limit') : say('shop_per_day', { count: perDay }),
    validityWords(months),
    ...(renews ? [say('shop_renews')] : []),
    ...(support === '' ? [] : [support]),
  ]
}
