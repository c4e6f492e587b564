import { useEffect, useId, useState } from 'preact/hooks'
import { useAction } from '../site/action.tsx'
import { readJson, request } from '../site/api-client.ts'
import { Button, ErrorMessage, Field } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { siteConfig } from '../site/site-config.ts'
import { Tabs } from '../site/tabs.tsx'
import { loadUsage, usage } from './key-state.ts'
import { SAMPLES, type SampleName } from './sample-code.ts'
import { SecretSample } from './secrets.tsx'

/** Sample code with this key, ready to run, here or elsewhere. */
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
      <FirstCall apiKey={apiKey} to={to.trim()} />
      <p class="soft">
        {t('key_charges')} <a href="/docs#list-emails">{t('site_docs')}</a>
      </p>
    </div>
  )
}

const MAX_EMAILS = 5
const MAX_SHOWN_CHARS = 20_000

/** Sends the request of the samples. */
function FirstCall({ apiKey, to }: { apiKey: string; to: string }) {
  const [shown, show] = useState('')
  const { isBusy, error, run } = useAction()
  useEffect(() => show(''), [apiKey, to])
  async function send(): Promise<string> {
    const response = await request('/emails', {
      headers: { apikey: apiKey },
      values: { to: to === '' ? undefined : to, limit: MAX_EMAILS },
    })
    show(JSON.stringify(await readJson(response), null, 2).slice(0, MAX_SHOWN_CHARS))
    if (usage.value) void loadUsage()
    return String(response.status)
  }
  return (
    <div class="first-call">
      <div class="row">
        <Button aria-disabled={isBusy} onClick={() => void (isBusy || run(send))}>
          {t('docs_send')}
        </Button>
      </div>
      <ErrorMessage error={error} />
      <div role="status">
        {shown !== '' && (
          <>
            <p class="soft">{t('docs_response')}</p>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
            <pre tabIndex={0}>
              <code dir="ltr">{shown}</code>
            </pre>
          </>
        )}
      </div>
    </div>
  )
}

const NAMES = (Object.keys(SAMPLES) as SampleName[]).map(
  (name) => [name, SAMPLES[name].name] as const,
)
