import { useEffect, useRef, useState } from 'preact/hooks'
import { Samples } from '../key/samples.tsx'
import { CopyButton } from '../site/copy-button.tsx'
import { say } from '../site/words.ts'
import type { MintedKey } from './open-order.ts'

/** The key, this once. */
export function Minted({ minted: { key, order_id: orderId } }: { minted: MintedKey }) {
  const place = useRef<HTMLDivElement>(null)
  const text = useRef<HTMLElement>(null)
  const file = useFile(`${key}\n`)
  useEffect(() => place.current?.focus(), [])
  return (
    <div class="minted" ref={place} tabIndex={-1}>
      <p class="notice good">{say('shop_minted')}</p>
      <pre>
        <code class="key" ref={text}>
          {key}
        </code>
      </pre>
      <div class="row">
        <CopyButton text={key} marks={text} label={say('shop_key')} class="" />
        <a class="button plain" href={file} download={`mayfly-key-${orderId}.txt`}>
          {say('shop_download')}
        </a>
      </div>
      <h2>{say('shop_use')}</h2>
      <Samples apiKey={key} />
      <p class="soft">
        {say('shop_usage')} <a href="/key">{say('site_key')}</a>
      </p>
    </div>
  )
}

/** The address of a text that is made into a file, as long as it is on the page. */
function useFile(text: string): string {
  const [url] = useState(() => URL.createObjectURL(new Blob([text], { type: 'text/plain' })))
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  return url
}
