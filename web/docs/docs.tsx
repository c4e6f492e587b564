import { signal } from '@preact/signals'
import { render } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Catalogue } from '../../src/shared/translate.ts'
import { SecretSample } from '../key/secrets.tsx'
import { errorText, requestJson } from '../site/api-client.ts'
import { Button, ErrorMessage } from '../site/controls.tsx'
import { ConfirmDialog } from '../site/dialog.tsx'
import { language, t } from '../site/i18n.ts'
import { enhancePage, setTitle } from '../site/layout.tsx'
import { siteConfig } from '../site/site-config.ts'
import { type ConsoleState, createConsoleState, getSecret } from './console-state.ts'
import { addCopyButtons, shareChoice } from './examples.tsx'
import { CredentialField, ParameterField } from './fields.tsx'
import { type ApiDocument, curlCommand, type Operation, operationOf } from './request.ts'
import { ResponseView } from './response.tsx'
import '../site/tabs.css'
import './docs.css'
import './console.css'

// Not useId(): each console is rendered by itself, so all would have the same IDs.
const fieldId = ({ id }: Operation, name: string) => `console-${id}-${name}`

/** Sends requests to one operation of the API. */
export function Console({ operation }: { operation: Operation }) {
  const trial = useMemo(() => createConsoleState(operation), [operation])
  const [isConfirming, setConfirming] = useState(false)
  useEffect(() => () => trial.stop(), [trial])
  const danger = CONFIRMATIONS[operation.id]
  const { phase, fault } = trial.progress.value
  const busy = phase === 'waiting' || phase === 'streaming'
  return (
    <form
      class="panel console"
      aria-label={t('docs_console', { call: `${operation.method} ${operation.path}` })}
      onSubmit={(event) => {
        event.preventDefault()
        if (danger) setConfirming(true)
        else void trial.send()
      }}
    >
      {operation.auth && (
        <CredentialField id={fieldId(operation, 'credential')} opens={operation.auth} />
      )}
      {operation.fields.length > 0 && (
        <div class="console-fields">
          {operation.fields.map((field) => (
            <ParameterField
              key={field.name}
              id={fieldId(operation, field.name)}
              field={field}
              trial={trial}
            />
          ))}
        </div>
      )}
      <div class="row">
        <button type="submit" class={danger ? 'danger' : ''} disabled={busy}>
          {t('docs_send')}
        </button>
        {busy && (
          <Button class="plain" onClick={trial.stop}>
            {t('docs_stop')}
          </Button>
        )}
        {operation.isCharged && <span class="soft">{t('docs_cost')}</span>}
      </div>
      <p class="soft console-state" role="status">
        {phaseText(phase)}
      </p>
      <ErrorMessage error={fault} />
      <ResponseView trial={trial} />
      <CurlCommand trial={trial} />
      {isConfirming && danger && (
        <ConfirmDialog
          title={t('docs_confirm')}
          action={t('docs_send')}
          class="danger"
          onConfirm={() => {
            setConfirming(false)
            void trial.send()
          }}
          onClose={() => setConfirming(false)}
        >
          <p>{t(danger)}</p>
        </ConfirmDialog>
      )}
    </form>
  )
}

/** Operations that cannot be undone ask for confirmation. */
const CONFIRMATIONS: Record<string, keyof Catalogue> = {
  deleteMail: 'docs_confirm_delete_mail',
  deleteSession: 'docs_confirm_delete_session',
  claimOrder: 'docs_confirm_claim',
}

function phaseText(phase: ConsoleState['progress']['value']['phase']): string {
  if (phase === 'waiting') return t('docs_waiting')
  if (phase === 'streaming') return t('docs_stream_open')
  if (phase === 'stopped') return t('docs_stopped')
  return phase === 'over' ? t('docs_stream_ended') : ''
}

function CurlCommand({ trial }: { trial: ConsoleState }) {
  const { operation } = trial
  const line = curlCommand(trial.request(), siteConfig.site, operation.isStream)
  return (
    <details class="more">
      <summary>{t('docs_curl')}</summary>
      <SecretSample text={line} secret={getSecret(operation.auth)} label={t('docs_curl_label')} />
    </details>
  )
}

const api = signal<ApiDocument | undefined>(undefined)
const apiError = signal<unknown>(undefined)

/** Loaded when the first console is opened. */
async function load(): Promise<void> {
  if (api.value) return
  apiError.value = undefined
  try {
    api.value = await requestJson<ApiDocument>('/openapi.json')
  } catch (fault) {
    apiError.value = fault
  }
}

function TryIt({ call }: { call: string }) {
  const [open, setOpen] = useState(false)
  return (
    <div class="try" lang={language.value} dir={language.value === 'ar' ? 'rtl' : 'ltr'}>
      <Button
        class="plain"
        aria-expanded={open}
        aria-label={`${t(open ? 'site_close' : 'docs_try')}: ${call}`}
        onClick={() => {
          setOpen(!open)
          void load()
        }}
      >
        {t(open ? 'site_close' : 'docs_try')}
      </Button>
      {open && <OpenedConsole call={call} />}
    </div>
  )
}

function OpenedConsole({ call }: { call: string }) {
  const operation = api.value && operationOf(api.value, call)
  if (operation) return <Console operation={operation} />
  return (
    <p class="soft" role="status">
      {apiError.value === undefined ? t('site_loading') : errorText(apiError.value)}
    </p>
  )
}

setTitle('site_docs')
await enhancePage('docs')
shareChoice()
addCopyButtons()
for (const place of document.querySelectorAll<HTMLElement>('[data-call]')) {
  render(<TryIt call={place.dataset['call'] ?? ''} />, place)
}
