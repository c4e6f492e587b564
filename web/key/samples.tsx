import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import { facts } from '../site/facts.ts'
import { Tabs } from '../site/tabs.tsx'
import { say } from '../site/words.ts'
import { SAMPLES, type SampleName } from './sample-texts.ts'
import { SecretSample } from './secret-sample.tsx'
import './samples.css'

/** How to call with this key, ready to run. */
export function Samples({ apiKey }: { apiKey: string }) {
  const chosen = useSignal<SampleName>('curl')
  const to = useSignal('')
  const id = useId()
  const text = SAMPLES[chosen.value].write({ site: facts.site, key: apiKey, to: to.value.trim() })
  return (
    <div class="samples">
      <div class="field">
        <label for={`${id}-to`}>{say('key_to')}</label>
        <input
          id={`${id}-to`}
          type="email"
          dir="ltr"
          autocomplete="off"
          placeholder="name@example.com"
          value={to.value}
          onInput={({ currentTarget }) => {
            to.value = currentTarget.value
          }}
        />
      </div>
      <Tabs
        label={say('key_samples')}
        tabs={NAMES}
        chosen={chosen.value}
        onChoose={(name) => {
          chosen.value = name
        }}
      >
        <SecretSample text={text} secret={apiKey} label={say('key_sample')} />
      </Tabs>
      <p class="soft">
        {say('key_cost')} <a href="/docs#emails">{say('site_docs')}</a>
      </p>
    </div>
  )
}

const NAMES = [
  ['curl', SAMPLES.curl.name],
  ['javascript', SAMPLES.javascript.name],
  ['python', SAMPLES.python.name],
] as const
