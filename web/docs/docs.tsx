import { signal } from '@preact/signals'
import { render } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from '../site/ask.ts'
import { dressPage } from '../site/dress.tsx'
import { faultWords } from '../site/fault-words.ts'
import { entitle } from '../site/title.ts'
import { language, say } from '../site/words.ts'
import { Console } from './console.tsx'
import { type ApiDocument, operationOf } from './operation.ts'
import './docs.css'
import './console.css'

const api = signal<ApiDocument | undefined>(undefined)
const apiFault = signal<unknown>(undefined)

/** Asked for when the first call is tried. */
async function load(): Promise<void> {
  if (api.value) return
  apiFault.value = undefined
  try {
    api.value = await ask<ApiDocument>('/openapi.json')
  } catch (fault) {
    apiFault.value = fault
  }
}

/** The button beside a call's name, and what it opens. */
function Try({ call }: { call: string }) {
  const [open, setOpen] = useState(false)
  return (
    <div class="try" lang={language.value} dir={language.value === 'ar' ? 'rtl' : 'ltr'}>
      <button
        type="button"
        class="plain"
        aria-expanded={open}
        aria-label={`${say(open ? 'docs_shut' : 'docs_try')}: ${call}`}
        onClick={() => {
          setOpen(!open)
          void load()
        }}
      >
        {say(open ? 'docs_shut' : 'docs_try')}
      </button>
      {open && <Opened call={call} />}
    </div>
  )
}

function Opened({ call }: { call: string }) {
  const operation = api.value && operationOf(api.value, call)
  if (operation) return <Console operation={operation} />
  return (
    <p class="soft" role="status">
      {apiFault.value === undefined ? say('docs_loading') : faultWords(apiFault.value)}
    </p>
  )
}

entitle('site_docs')
await dressPage('docs')
for (const place of document.querySelectorAll<HTMLElement>('[data-call]')) {
  render(<Try call={place.dataset['call'] ?? ''} />, place)
}
