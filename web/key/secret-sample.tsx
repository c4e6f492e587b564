import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { CopyButton } from '../site/copy-button.tsx'
import { say } from '../site/words.ts'
import { masked } from './masked.ts'
import './secret-sample.css'

interface SecretSampleProps {
  text: string
  /** What of it is not shown until the reader asks; copied it is whole. */
  secret: string
  /** What it is, for the copy button. */
  label: string
}

/** A text to be copied, in which a secret stands. */
export function SecretSample({ text, secret, label }: SecretSampleProps) {
  const revealed = useSignal(false)
  const place = useRef<HTMLElement>(null)
  const hides = secret !== '' && text.includes(secret)
  const shown = hides && !revealed.value ? text.replaceAll(secret, masked(secret)) : text
  return (
    <div class="secret-sample">
      <pre>
        <code ref={place}>{shown}</code>
      </pre>
      <div class="row">
        <CopyButton text={text} marks={place} label={label} />
        {hides && (
          <button
            type="button"
            class="quiet"
            aria-pressed={revealed.value}
            onClick={() => {
              revealed.value = !revealed.value
            }}
          >
            {say(revealed.value ? 'key_hide' : 'key_reveal')}
          </button>
        )}
      </div>
    </div>
  )
}
