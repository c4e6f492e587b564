import { useEffect, useId } from 'preact/hooks'
import { Confirmed } from '../site/confirmed.tsx'
import { Button, ErrorMessage, VERBATIM } from '../site/controls.tsx'
import { formatDateTime } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { SecretSample } from './secrets.tsx'
import {
  changeWebhook,
  createWebhook,
  type Delivery,
  deliveries,
  isBusy,
  loadDeliveries,
  loadWebhooks,
  rollSecret,
  shownSecret,
  type TestResult,
  testResults,
  testWebhook,
  type Webhook,
  webhookError,
  webhooks,
} from './webhook-state.ts'
import './webhooks.css'

/** The webhooks of the stored key; nothing if the operator has disabled them. */
export function Webhooks() {
  useEffect(() => void loadWebhooks(), [])
  const all = webhooks.value
  if (!all) return null
  return (
    <section class="panel" aria-labelledby="webhooks">
      <h2 id="webhooks">{t('hook_title')}</h2>
      <p class="soft">
        {t('hook_lead')} <a href="/docs#create-webhook">{t('site_docs')}</a>
      </p>
      {all.map((webhook) => (
        <WebhookView key={webhook.id} webhook={webhook} />
      ))}
      <CreateForm />
      <ErrorMessage error={webhookError.value} />
    </section>
  )
}

function WebhookView({ webhook }: { webhook: Webhook }) {
  const { id, url, state } = webhook
  const secret = shownSecret.value?.webhookId === id ? shownSecret.value.secret : undefined
  return (
    <details class="webhook" open={secret !== undefined}>
      <summary>
        <code dir="ltr">{url}</code>{' '}
        <span class={`badge ${state === 'active' ? 'good' : 'bad'}`}>{t(`hook_${state}`)}</span>
      </summary>
      {secret !== undefined && (
        <div class="stack">
          <p class="notice good">{t('hook_secret')}</p>
          <SecretSample text={secret} secret={secret} label={t('hook_secret_label')} />
        </div>
      )}
      <Facts webhook={webhook} />
      <Actions webhook={webhook} />
      <p class="webhook-test" role="status">
        {testText(testResults.value[id])}
      </p>
      <details
        class="more"
        onToggle={({ currentTarget }) => {
          if (currentTarget.open) void loadDeliveries(id)
        }}
      >
        <summary>{t('hook_deliveries')}</summary>
        <DeliveryTable deliveries={deliveries.value[id] ?? []} />
      </details>
    </details>
  )
}

function testText(result: TestResult | undefined): string {
  return result ? t('hook_tested', { result: outcomeText(result), ms: result.ms }) : ''
}

function outcomeText({ status, error }: Pick<Delivery, 'status' | 'error'>): string {
  return error ?? String(status)
}

function Facts({ webhook }: { webhook: Webhook }) {
  const { reason, to, last_delivery_at_iso: last, next_attempt_at_iso: next } = webhook
  const { backlog, gap_since_iso: gap } = webhook
  const facts: [string, string | null][] = [
    [t('hook_reason'), reason],
    [t('hook_address'), to],
    [t('hook_last'), last && formatDateTime(last)],
    [t('hook_next'), next && formatDateTime(next)],
    [t('hook_backlog'), backlog ? backlog.toLocaleString(language.value) : null],
    [t('hook_gap'), gap && formatDateTime(gap)],
  ]
  return (
    <dl class="facts">
      {facts.map(
        ([name, text]) =>
          text !== null && (
            <>
              <dt>{name}</dt>
              <dd>{text}</dd>
            </>
          ),
      )}
    </dl>
  )
}

function Actions({ webhook: { id, url, state } }: { webhook: Webhook }) {
  return (
    <div class="row key-actions">
      <Button class="plain" disabled={isBusy.value} onClick={() => void testWebhook(id)}>
        {t('hook_test')}
      </Button>
      {state !== 'active' && (
        <Button
          class="plain"
          disabled={isBusy.value}
          onClick={() => void changeWebhook(id, 'enable')}
        >
          {t('hook_enable')}
        </Button>
      )}
      <Confirmed
        disabled={isBusy.value}
        name={t('hook_replay')}
        run={() => changeWebhook(id, 'replay')}
      >
        {t('hook_replay_how')}
      </Confirmed>
      <Confirmed disabled={isBusy.value} name={t('hook_roll')} run={() => rollSecret(id)}>
        {t('hook_roll_how')}
      </Confirmed>
      <Confirmed
        disabled={isBusy.value}
        name={t('hook_delete')}
        confirmClass="danger"
        run={() => changeWebhook(id, 'delete')}
      >
        {t('hook_delete_how', { url })}
      </Confirmed>
    </div>
  )
}

function DeliveryTable({ deliveries }: { deliveries: readonly Delivery[] }) {
  if (deliveries.length === 0) return <p class="soft">{t('hook_none')}</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways on a phone, also by keyboard
    <section class="webhook-table" aria-label={t('hook_deliveries')} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t('hook_time')}</th>
            <th scope="col">{t('hook_result')}</th>
            <th scope="col" class="number">
              {t('hook_attempt')}
            </th>
            <th scope="col" class="number">
              {t('hook_took')}
            </th>
          </tr>
        </thead>
        <tbody>
          {deliveries.map((delivery) => (
            <tr key={`${delivery.message_id} ${delivery.attempt} ${delivery.attempted_at}`}>
              <td>{formatDateTime(delivery.attempted_at_iso)}</td>
              <td>{outcomeText(delivery)}</td>
              <td class="number">{delivery.attempt}</td>
              <td class="number">{t('docs_duration', { time: delivery.ms })}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function CreateForm() {
  const id = useId()
  return (
    <form
      class="stack webhook-new"
      noValidate
      onSubmit={async (event) => {
        event.preventDefault()
        const form = event.currentTarget
        const values = new FormData(form)
        const [url, to] = ['url', 'to'].map((name) => String(values.get(name)).trim())
        if (await createWebhook(url ?? '', to ?? '')) form.reset()
      }}
    >
      <div class="field">
        <label for={`${id}-url`}>{t('hook_url')}</label>
        <input id={`${id}-url`} name="url" type="url" placeholder="https://" {...VERBATIM} />
      </div>
      <div class="field">
        <label for={`${id}-to`}>{t('hook_to')}</label>
        <input id={`${id}-to`} name="to" type="email" {...VERBATIM} />
      </div>
      <div class="row">
        <button type="submit" disabled={isBusy.value}>
          {t('hook_create')}
        </button>
      </div>
    </form>
  )
}
