import { useEffect, useId, useState } from 'preact/hooks'
import { type ActionView, useAction } from '../site/action.tsx'
import type { ApiResponses, Delivery, DeliveryOutcome, Webhook } from '../site/api.ts'
import { ApiError } from '../site/api-client.ts'
import { ErrorMessage, Field, Form, VERBATIM } from '../site/controls.tsx'
import { Facts } from '../site/facts.tsx'
import { formatDateTime } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { useKeptFocus } from '../site/kept-focus.ts'
import { isDelivered, testText, webhookReason } from '../site/webhook-text.ts'
import { Entry, EntryActions } from './entry.tsx'
import { requestWithKey } from './key-state.ts'
import { SecretSample } from './secrets.tsx'
import './webhooks.css'

const call = <T,>(path: string, values?: Record<string, string | undefined>) =>
  requestWithKey<T>(`/webhooks${path}`, values)

/** The newest secret, while it is shown. */
interface ShownSecret {
  id: string
  secret: string
}

/** The webhooks of the stored key; nothing if the operator has disabled them. */
export function Webhooks() {
  const [all, setAll] = useState<Webhook[] | undefined>(undefined)
  const [shown, show] = useState<ShownSecret | undefined>(undefined)

  async function load(): Promise<void> {
    try {
      setAll((await call<ApiResponses['GET /webhooks']>('')).webhooks)
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'not_allowed')) throw error
    }
  }
  const action = useAction({ done: load })
  useEffect(() => void action.run(async () => ''), [])
  const keptFocus = useKeptFocus(all, '.key-entry')

  async function create(form: HTMLFormElement): Promise<string> {
    const texts = [...new FormData(form)].map(([name, text]) => [name, String(text).trim()])
    const values = Object.fromEntries(texts.filter(([name, text]) => name === 'url' || text !== ''))
    const { webhook } = await call<ApiResponses['POST /webhooks']>('', values)
    show(webhook)
    form.reset()
    return ''
  }

  if (!all) return null
  return (
    <section class="panel" tabIndex={-1} aria-labelledby="webhooks" {...keptFocus}>
      <h2 id="webhooks">{t('hook_title')}</h2>
      <p class="soft">
        {t('hook_lead')} <a href="/docs#create-webhook">{t('site_docs')}</a>
      </p>
      {all.map((webhook) => (
        <WebhookView
          key={webhook.id}
          webhook={webhook}
          secret={shown?.id === webhook.id ? shown.secret : undefined}
          show={show}
          reload={load}
        />
      ))}
      <CreateForm isBusy={action.isBusy} onSubmit={(form) => void action.run(() => create(form))} />
      <ErrorMessage error={action.error} />
    </section>
  )
}

interface WebhookViewProps {
  webhook: Webhook
  secret: string | undefined
  show(secret: ShownSecret): void
  reload(): Promise<void>
}

function WebhookView({ webhook, secret, show, reload }: WebhookViewProps) {
  const { id, url, state } = webhook
  const [deliveries, setDeliveries] = useState<Delivery[]>([])
  const [tested, setTested] = useState<DeliveryOutcome | undefined>(undefined)
  const action = useAction({ done: reload })
  const reading = useAction()
  const loadDeliveries = async () => {
    const found = await call<ApiResponses['GET /webhooks/{id}/deliveries']>(`/${id}/deliveries`)
    setDeliveries(found.deliveries)
    return ''
  }
  return (
    <Entry name={url} badge={badgeOf(state, tested)} isOpen={secret !== undefined}>
      {secret !== undefined && (
        <div class="stack">
          <p class="notice good">{t('hook_secret')}</p>
          <SecretSample text={secret} secret={secret} label={t('hook_secret_label')} />
        </div>
      )}
      <WebhookFacts webhook={webhook} />
      <EntryActions views={actionsOf(webhook, { show, onTested: setTested })} action={action} />
      <details
        class="more"
        onToggle={({ currentTarget }) => {
          if (currentTarget.open) void reading.run(loadDeliveries)
        }}
      >
        <summary>{t('hook_deliveries')}</summary>
        <ErrorMessage error={reading.error} />
        <DeliveryTable deliveries={deliveries} />
      </details>
    </Entry>
  )
}

/** A test changes no state, but one that failed must not be called active. */
function badgeOf(state: Webhook['state'], tested: DeliveryOutcome | undefined) {
  if (state !== 'active') return [t(`hook_${state}`), 'bad'] as const
  return tested && !isDelivered(tested)
    ? ([t('hook_test_failed'), 'bad'] as const)
    : ([t('hook_active'), 'good'] as const)
}

function WebhookFacts({ webhook }: { webhook: Webhook }) {
  const { reason, to, last_delivery_at_iso: last, next_attempt_at_iso: next } = webhook
  const { backlog, gap_since_iso: gap } = webhook
  return (
    <Facts
      facts={[
        [t('hook_reason'), reason && webhookReason(reason)],
        [t('hook_address'), to],
        [t('hook_last'), last && formatDateTime(last)],
        [t('hook_next'), next && formatDateTime(next)],
        [t('hook_backlog'), backlog ? backlog.toLocaleString(language.value) : null],
        [t('hook_gap'), gap && formatDateTime(gap)],
      ]}
    />
  )
}

interface Results extends Pick<WebhookViewProps, 'show'> {
  onTested(outcome: DeliveryOutcome): void
}

function actionsOf({ id, url, state }: Webhook, { show, onTested }: Results): ActionView[] {
  const changing =
    (change: string, values: Record<string, string> = {}) =>
    async () => {
      await call(`/${id}/${change}`, values)
      return ''
    }
  return [
    {
      text: t('hook_test'),
      async run() {
        const path = `/${id}/test`
        const { delivery } = await call<ApiResponses['POST /webhooks/{id}/test']>(path, {})
        onTested(delivery)
        return testText(delivery)
      },
    },
    ...(state === 'active' ? [] : [{ text: t('hook_enable'), run: changing('enable') }]),
    {
      text: t('hook_replay'),
      confirm: t('hook_replay_how'),
      run: changing('replay', { since_id: '0' }),
    },
    {
      text: t('hook_roll'),
      confirm: t('hook_roll_how'),
      async run() {
        const path = `/${id}/roll-secret`
        show({ id, ...(await call<ApiResponses['POST /webhooks/{id}/roll-secret']>(path, {})) })
        return ''
      },
    },
    {
      text: t('hook_delete'),
      danger: true,
      confirm: t('hook_delete_how', { url }),
      run: changing('delete'),
    },
  ]
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
              <td>{delivery.error === null ? delivery.status : webhookReason(delivery.error)}</td>
              <td class="number">{delivery.attempt}</td>
              <td class="number">{t('docs_duration', { time: delivery.ms })}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

interface CreateFormProps {
  isBusy: boolean
  onSubmit(form: HTMLFormElement): void
}

function CreateForm({ isBusy, onSubmit }: CreateFormProps) {
  const id = useId()
  return (
    <Form class="stack key-form" onSubmit={onSubmit}>
      <Field id={`${id}-url`} label={t('hook_url')}>
        <input id={`${id}-url`} name="url" type="url" placeholder="https://" {...VERBATIM} />
      </Field>
      <Field id={`${id}-to`} label={t('hook_to')}>
        <input id={`${id}-to`} name="to" type="email" {...VERBATIM} />
      </Field>
      <div class="row">
        <button type="submit" disabled={isBusy}>
          {t('hook_create')}
        </button>
      </div>
    </Form>
  )
}
