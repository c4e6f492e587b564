import { useId, useState } from 'preact/hooks'
import { Field } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { siteConfig } from '../site/site-config.ts'
import { Tabs } from '../site/tabs.tsx'
import { SAMPLES, type SampleName } from './sample-code.ts'
import { SecretSample } from './secrets.tsx'

/** Sample code with this key, ready to run. */
export function Samples({ apiKey }: { apiKey: string }) {
  const [chosen, choose] = useState<SampleName>('curl')
  const [to, setTo] = useState('')
  const id = useId()
  const { site } = siteConfig
  const text = SAMPLES[chosen].write({ site, key: apiKey, to: to.trim() })
  return (
    <div class="samples">
      <Field id={`${id}-to`} label={t('key_filter')}>
        <input
          id={`${id}-to`}
          type="email"
          dir="ltr"
          autocomplete="off"
          placeholder="name@example.com"
          value={to}
          onInput={({ currentTarget }) => setTo(currentTarget.value)}
        />
      </Field>
      <Tabs<SampleName> label={t('key_samples')} tabs={NAMES} chosen={chosen} onChoose={choose}>
        <SecretSample text={text} secret={apiKey} label={t('key_sample_label')} />
      </Tabs>
      <p class="soft">
        {t('key_charges')} <a href="/docs#list-emails">{t('site_docs')}</a>
      </p>
    </div>
  )
}

const NAMES = (Object.keys(SAMPLES) as SampleName[]).map(
  (name) => [name, SAMPLES[name].name] as const,
)
