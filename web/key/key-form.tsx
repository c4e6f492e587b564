import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Refusal } from '../site/ask.ts'
import { faultWords } from '../site/fault-words.ts'
import { say } from '../site/words.ts'
import { heldKey, holdKey } from './held-key.ts'
import { asking, askUsage, handled, usageFault } from './usage.ts'

export function KeyForm() {
  const missing = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (handled.value) field.current?.focus()
  }, [])
  const words = missing.value ? say('key_missing') : usageWords(usageFault.value)
  return (
    <form
      class="panel"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        const given = String(new FormData(event.currentTarget).get('key')).trim()
        missing.value = given === ''
        if (missing.value) return
        handled.value = true
        holdKey(given)
        void askUsage()
      }}
    >
      <div class="field">
        <label for="key">{say('key_field')}</label>
        <input
          ref={field}
          id="key"
          name="key"
          class="key-input"
          dir="ltr"
          defaultValue={heldKey.value}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          placeholder="mf_live_…"
          aria-invalid={words !== ''}
          aria-describedby="key-fault key-kept"
        />
        <p id="key-fault" class="fault" role="alert">
          {words}
        </p>
      </div>
      <div class="row">
        <button type="submit" disabled={asking.value}>
          {say('key_look')}
        </button>
        <span id="key-kept" class="soft">
          {say('key_kept')}
        </span>
      </div>
      <p class="soft key-none">
        {say('key_none')} <a href="/pricing">{say('key_buy')}</a>
      </p>
    </form>
  )
}

function usageWords(fault: unknown): string {
  if (fault === undefined) return ''
  if (fault instanceof Refusal && fault.code === 'invalid_key') return say('key_wrong')
  return faultWords(fault)
}
