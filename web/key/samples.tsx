import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import { t } from '../site/i18n.ts'
import { siteConfig } from '../site/site-config.ts'
import { Tabs } from '../site/tabs.tsx'
import { SAMPLES, type SampleName } from './sample-code.ts'
import { SecretSample } from './secrets.tsx'
import './samples.css'

/** Sample code with this key, ready to run. */
export function Samples({ apiKey }: { apiKey: string }) {
  const chosen = useSignal<SampleName>('curl')
  const to = useSignal('')
  const id = useId()
  const text = SAMPLES[chosen.value].write({
    site: siteConfig.site,
    key: apiKey,
    to: to.value.trim(),
  })
  return (
    <div class="samples">
      <div class="field">
        <label for={`${id}-to`}>{t('key_filter')}</label>
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
        label={t('key_samples')}
        tabs={NAMES}
        chosen={chosen.value}
        onChoose={(name) => {
          chosen.value = name
        }}
      >
        <SecretSample text={text} secret={apiKey} label={t('key_sample_label')} />
      </Tabs>
      <p class="soft">
        {t('key_charges')} <a href="/docs#emails">{t('site_docs')}</a>
      </p>
    </div>
  )
}

const NAMES = [
  ['curl', SAMPLES.curl.name],
  ['javascript', SAMPLES.javascript.name],
  ['python', SAMPLES.python.name],
] as const
