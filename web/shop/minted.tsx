import { useEffect, useRef } from 'preact/hooks'
import { KeyShown } from '../key/key-shown.tsx'
import { Samples } from '../key/samples.tsx'
import { say } from '../site/words.ts'
import type { MintedKey } from './open-order.ts'

/** The key, this once. */
export function Minted({ minted: { key, order_id: orderId } }: { minted: MintedKey }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => place.current?.focus(), [])
  return (
    <div class="minted" ref={place} tabIndex={-1}>
      <p class="notice good">{say('shop_minted')}</p>
      <KeyShown apiKey={key} name={`mayfly-key-${orderId}`} />
      <h2>{say('shop_use')}</h2>
      <Samples apiKey={key} />
      <p class="soft">
        {say('shop_usage')} <a href="/key">{say('site_key')}</a>
      </p>
    </div>
  )
}
