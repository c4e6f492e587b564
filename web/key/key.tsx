import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError, errorText } from '../site/api-client.ts'
import { Field, Form, VERBATIM } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { Layout, mountPage, setTitle } from '../site/layout.tsx'
import { siteConfig } from '../site/site-config.ts'
import { Domains } from './domains.tsx'
import {
  hasInteracted,
  isLoading,
  loadPlanNames,
  loadUsage,
  storedKey,
  storeKey,
  usage,
  usageError,
} from './key-state.ts'
import { RolledKeyView, rolledKey } from './roll.tsx'
import { Samples } from './samples.tsx'
import { UsageView } from './usage-view.tsx'
import { Webhooks } from './webhooks.tsx'
import './key.css'

export function KeyForm() {
  const missing = useSignal(false)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (hasInteracted.value) field.current?.focus()
  }, [])
  const words = missing.value ? t('key_missing') : usageErrorText(usageError.value)
  return (
    <Form
      class="panel"
      onSubmit={(form) => {
        const given = String(new FormData(form).get('key')).trim()
        missing.value = given === ''
        if (missing.value) return
        hasInteracted.value = true
        storeKey(given)
        void loadUsage()
      }}
    >
      <Field id="key" label={t('site_key')}>
        <input
          ref={field}
          id="key"
          name="key"
          class="key-input"
          defaultValue={storedKey.value}
          {...VERBATIM}
          placeholder="mf_live_…"
          aria-invalid={words !== ''}
          aria-describedby="key-fault key-kept"
        />
        <p id="key-fault" class="fault" role="alert">
          {words}
        </p>
      </Field>
      <div class="row">
        <button type="submit" disabled={isLoading.value}>
          {t('key_show')}
        </button>
        <span id="key-kept" class="soft">
          {t('key_storage_hint')}
        </span>
      </div>
      {siteConfig.shop && (
        <p class="soft key-none">
          {t('key_none')} <a href="/pricing">{t('key_see_plans')}</a>
        </p>
      )}
    </Form>
  )
}

function usageErrorText(fault: unknown): string {
  if (fault === undefined) return ''
  if (fault instanceof ApiError && fault.code === 'invalid_key') return t('key_wrong')
  return errorText(fault)
}

function KeyPage() {
  return (
    <Layout section="key">
      <h1>{t('site_key')}</h1>
      <p class="lead">{t('key_lead')}</p>
      <div class="stack">
        {usage.value ? (
          <>
            {rolledKey.value && <RolledKeyView key={rolledKey.value.key} made={rolledKey.value} />}
            <UsageView usage={usage.value} />
            {(siteConfig.ownDomains || usage.value.domains.used > 0) && (
              <Domains mailLife={siteConfig.ownMailLife} />
            )}
            <Webhooks />
            <section class="panel" aria-labelledby="samples">
              <h2 id="samples">{t('key_samples')}</h2>
              <Samples apiKey={storedKey.value} />
            </section>
          </>
        ) : (
          <KeyForm />
        )}
      </div>
    </Layout>
  )
}

setTitle('site_key')
void loadPlanNames()
// With a stored key, the usage is loaded first, so that the form does not flicker.
if (storedKey.value !== '') await loadUsage()
await mountPage(() => <KeyPage />)
