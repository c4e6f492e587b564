import { useEffect, useId, useState } from 'preact/hooks'
import { type Action, useAction } from '../site/action.tsx'
import type { ApiResponses } from '../site/api.ts'
import { ErrorMessage, Field, Form, VERBATIM } from '../site/controls.tsx'
import { errorTexts } from '../site/error-texts.ts'
import { language, t } from '../site/i18n.ts'
import { useKeptFocus } from '../site/kept-focus.ts'
import { siteConfig } from '../site/site-config.ts'
import { Addresses } from './addresses.tsx'
import { DomainView } from './domain-view.tsx'
import { loadUsage, requestWithKey } from './key-state.ts'

type DomainList = ApiResponses['GET /domains']

const addErrorText = errorTexts({
  invalid_domain: 'own_error_invalid',
  domain_reserved: 'own_error_reserved',
  domain_exists: 'own_error_exists',
})

/** The domains of the stored key, and the addresses at them that do not expire. `mailLife`: of their mail, in seconds. */
export function Domains({ mailLife }: { mailLife: number }) {
  const [list, setList] = useState<DomainList>()
  const [added, setAdded] = useState('')

  async function load(): Promise<void> {
    setList(await requestWithKey<DomainList>('/domains'))
  }
  /** Also what the usage says about them. */
  async function reload(): Promise<void> {
    await Promise.all([load(), loadUsage()])
  }
  const loading = useAction({ done: load })
  const adding = useAction({ done: reload, shown: addErrorText })
  useEffect(() => void loading.run(async () => ''), [])
  const keptFocus = useKeptFocus(list, '.key-entry')

  async function add(form: HTMLFormElement): Promise<string> {
    const domain = String(new FormData(form).get('domain')).trim()
    const { id } = await requestWithKey<ApiResponses['POST /domains']>('/domains', { domain })
    setAdded(id)
    form.reset()
    return ''
  }

  const { domains = [], limit = 0 } = list ?? {}
  // Once the operator has turned it off, domains stay, but none can be added.
  const canAdd = siteConfig.ownDomains && domains.length < limit
  const verified = domains.filter(({ state }) => state !== 'pending')
  return (
    <>
      <section class="panel" tabIndex={-1} aria-labelledby="domains" {...keptFocus}>
        <div class="key-top row">
          <h2 id="domains">{t('own_title')}</h2>
          {siteConfig.ownDomains && limit > 0 && (
            <span class="soft">
              {t('key_used', { count: domains.length, all: limit.toLocaleString(language.value) })}
            </span>
          )}
        </div>
        <p class="soft">
          {t('own_lead')} <a href="/docs#add-own-domain">{t('site_docs')}</a>
        </p>
        <ErrorMessage error={loading.error} />
        {domains.map((domain) => (
          <DomainView key={domain.id} domain={domain} isNew={domain.id === added} reload={reload} />
        ))}
        {list && siteConfig.ownDomains && !canAdd && <LimitReached limit={limit} />}
        {canAdd && (
          <AddForm action={adding} onSubmit={(form) => void adding.run(() => add(form))} />
        )}
      </section>
      {verified.length > 0 && <Addresses domains={verified} mailLife={mailLife} />}
    </>
  )
}

function LimitReached({ limit }: { limit: number }) {
  return (
    <p class="key-form soft">
      {limit === 0 ? t('own_not_included') : t('own_limit', { count: limit })}{' '}
      {siteConfig.shop && <a href="/pricing">{t('key_see_plans')}</a>}
    </p>
  )
}

interface AddFormProps {
  action: Action
  onSubmit(form: HTMLFormElement): void
}

function AddForm({ action: { isBusy, error }, onSubmit }: AddFormProps) {
  const id = useId()
  return (
    <Form class="key-form" onSubmit={onSubmit}>
      <Field id={id} label={t('address_form_domain')}>
        <input
          id={id}
          name="domain"
          placeholder="mail.example.com"
          inputMode="url"
          {...VERBATIM}
          aria-invalid={error !== ''}
          aria-describedby={`${id}-error`}
        />
        <div id={`${id}-error`}>
          <ErrorMessage error={error} />
        </div>
      </Field>
      <button type="submit" disabled={isBusy}>
        {t('own_add')}
      </button>
    </Form>
  )
}
