import { computed } from '@preact/signals'
import { render } from 'preact'
import { useLayoutEffect, useMemo, useState } from 'preact/hooks'
import { masked } from '../key/secrets.tsx'
import { CopyButton } from '../site/copy-button.tsx'
import { localStore } from '../site/storage.ts'
import { getSecret, inboxMailbox } from './console-state.ts'

const CHOICE = 'example'

/** One choice of a language for all examples, also on the next visit. */
export function shareChoice(): void {
  choose(localStore.get(CHOICE) ?? '')
  addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement && target.closest('.example'))) return
    localStore.set(CHOICE, target.value)
    const before = target.getBoundingClientRect().top
    choose(target.value)
    // The examples above it may now be of another height.
    scrollBy({ top: target.getBoundingClientRect().top - before, behavior: 'instant' })
  })
}

/** An example without the language stays as it is. */
function choose(language: string): void {
  const selector = `.example input[value="${CSS.escape(language)}"]`
  for (const input of document.querySelectorAll<HTMLInputElement>(selector)) input.checked = true
}

/** Adds a button to each sample that copies it. */
export function addCopyButtons(): void {
  for (const box of document.querySelectorAll('.copyable')) {
    const sample = box.querySelector('code')
    if (!sample) continue
    const corner = document.createElement('div')
    box.append(corner)
    render(<CopySample sample={sample} />, corner)
  }
}

/** What this browser has of the placeholders: `values` as they are, `shown` masked. */
const own = computed(() => {
  // Not ADDRESS: it is that of a mailbox of the key, which the inbox seldom is.
  const values = withoutUnsafe({
    TOKEN: getSecret('token') || inboxMailbox()?.token || '',
    KEY: getSecret('key'),
  })
  const shown = Object.entries(values).map(([name, value]) => [name, masked(value)])
  return { values, shown: Object.fromEntries(shown) as Record<string, string> }
})

/** Whatever was entered: nothing that would end a string of the example. */
function withoutUnsafe(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => /^[\w.@+-]+$/.test(value)))
}

function CopySample({ sample }: { sample: HTMLElement }) {
  const places = useMemo(
    () => [...sample.querySelectorAll('var')].map((place) => ({ place, name: place.textContent })),
    [sample],
  )
  const [text, setText] = useState(sample.textContent)
  const { values, shown } = own.value
  useLayoutEffect(() => {
    const write = (given: Record<string, string>) => {
      for (const { place, name } of places) place.textContent = given[name] ?? name
    }
    write(values)
    setText(sample.textContent)
    write(shown)
    for (const { place, name } of places) place.classList.toggle('own', name in values)
  }, [sample, places, values, shown])
  return <CopyButton isIcon class="quiet icon" text={text} textRef={{ current: sample }} />
}
