import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Answers } from '../site/api.ts'
import { ask, Refusal } from '../site/ask.ts'
import { Dialog } from '../site/dialog.tsx'
import { faultWords } from '../site/fault-words.ts'
import { timeWords } from '../site/time-words.ts'
import { say } from '../site/words.ts'
import { heldKey, holdKey } from './held-key.ts'
import { KeyShown } from './key-shown.tsx'
import { askUsage } from './usage.ts'

const asked = signal(false)
const rolling = signal(false)
const fault = signal('')
const rolled = signal<Answers['POST /api/roll-key'] | undefined>(undefined)

/** Another key is looked at. */
export function forgetRolled(): void {
  rolled.value = undefined
}

/** The button that replaces a key by a new one, and the question before that. */
export function RollButton() {
  return (
    <>
      <button type="button" class="plain" onClick={openQuestion}>
        {say('key_roll')}
      </button>
      {asked.value && <Question />}
    </>
  )
}

function openQuestion(): void {
  fault.value = ''
  asked.value = true
}

function Question() {
  const close = () => {
    asked.value = false
  }
  return (
    <Dialog title={say('key_roll_title')} onClose={close}>
      <p>{say('key_roll_how')}</p>
      <p class="soft">{say('key_roll_earlier')}</p>
      <p class="fault" role="alert">
        {fault.value}
      </p>
      <div class="row">
        <button type="button" disabled={rolling.value} onClick={() => void roll()}>
          {say('key_roll_yes')}
        </button>
        <button type="button" class="plain" onClick={close}>
          {say('key_roll_no')}
        </button>
      </div>
    </Dialog>
  )
}

async function roll(): Promise<void> {
  if (rolling.value) return
  rolling.value = true
  try {
    const headers = { apikey: heldKey.value }
    const made = await ask<Answers['POST /api/roll-key']>('/api/roll-key', {
      method: 'POST',
      headers,
    })
    holdKey(made.key)
    asked.value = false
    rolled.value = made
    void askUsage()
  } catch (found) {
    const isOld = found instanceof Refusal && found.code === 'already_rolled'
    fault.value = isOld ? say('key_rolled_already') : faultWords(found)
  } finally {
    rolling.value = false
  }
}

/** The new key, as long as the page shows it. */
export function Rolled() {
  const found = rolled.value
  return found ? <NewKey key={found.key} made={found} /> : null
}

function NewKey({ made }: { made: Answers['POST /api/roll-key'] }) {
  const place = useRef<HTMLElement>(null)
  // Not before the dialog is gone, which gives the focus back to its button.
  useEffect(() => {
    const later = setTimeout(() => place.current?.focus())
    return () => clearTimeout(later)
  }, [])
  return (
    <section class="panel key-new" ref={place} tabIndex={-1} aria-label={say('key_rolled')}>
      <p class="notice good">
        {say('key_rolled')} {say('key_rolled_until', { time: timeWords(made.former_until_iso) })}
      </p>
      <KeyShown apiKey={made.key} name={`mayfly-key-${made.key_id}`} />
    </section>
  )
}
