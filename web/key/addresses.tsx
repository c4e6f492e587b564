import { useEffect, useId, useState } from 'preact/hooks'
import { type Action, ActionButton, type ActionView, useAction } from '../site/action.tsx'
import type { ApiResponses, KeySession, KeySessions, OwnDomain } from '../site/api.ts'
import {
  Button,
  ErrorMessage,
  Field,
  Form,
  type Option,
  Select,
  VERBATIM,
} from '../site/controls.tsx'
import { nameErrorText } from '../site/error-texts.ts'
import { formatDuration } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { useKeptFocus } from '../site/kept-focus.ts'
import { requestWithKey } from './key-state.ts'
import { SecretSample } from './secrets.tsx'
import './addresses.css'

type NewSession = ApiResponses['POST /api/create-session']
type RolledSession = ApiResponses['POST /sessions/roll-token']

interface AddressesProps {
  /** Verified ones. */
  domains: readonly OwnDomain[]
  /** In seconds. */
  mailLife: number
}

/** The addresses at these domains that do not expire. */
export function Addresses({ domains, mailLife }: AddressesProps) {
  const [list, setList] = useState<KeySession[]>([])
  const [next, setNext] = useState<string | null>(null)
  const [created, setCreated] = useState<NewSession>()
  const keptFocus = useKeptFocus(list, '.addresses > li')

  /** The first page, or the one at the cursor. */
  async function load(cursor?: string): Promise<void> {
    const query = new URLSearchParams({ permanent: '1', ...(cursor !== undefined && { cursor }) })
    const page = await requestWithKey<KeySessions>(`/sessions?${query}`)
    setList((before) => (cursor === undefined ? page.sessions : [...before, ...page.sessions]))
    setNext(page.next_cursor)
  }
  const loading = useAction()
  const action = useAction({ done: () => load() })
  const creating = useAction({ done: () => load(), shown: nameErrorText })
  const loadPage = (cursor?: string) =>
    void loading.run(async () => {
      await load(cursor)
      return ''
    })
  useEffect(() => loadPage(), [])

  async function create(form: HTMLFormElement): Promise<string> {
    const given = [...new FormData(form)].map(([name, text]) => [name, String(text).trim()])
    const values = Object.fromEntries(given.filter(([, text]) => text !== ''))
    const path = '/api/create-session'
    setCreated(await requestWithKey<NewSession>(path, { ...values, ttl: '0' }))
    form.reset()
    return ''
  }

  const active = domains.filter(({ state }) => state === 'active')
  const time = formatDuration(mailLife * 1000, language.value, 'long')
  return (
    <section class="panel" tabIndex={-1} aria-labelledby="addresses" {...keptFocus}>
      <h2 id="addresses">{t('own_addresses')}</h2>
      <p class="soft">{t('own_addresses_how', { time })}</p>
      <ErrorMessage error={loading.error} />
      <ul class="addresses" aria-labelledby="addresses">
        {list.map((session) => (
          <AddressRow
            key={session.email}
            session={session}
            action={action}
            onTokenEnd={() => setCreated((one) => (one?.email === session.email ? undefined : one))}
          />
        ))}
      </ul>
      {next !== null && (
        <Button class="plain" disabled={loading.isBusy} onClick={() => loadPage(next)}>
          {t('site_more')}
        </Button>
      )}
      <ErrorMessage error={action.error} />
      {active.length > 0 && (
        <CreateForm
          domains={active}
          action={creating}
          onSubmit={(form) => void creating.run(() => create(form))}
        />
      )}
      {created && (
        <NewToken text={t('own_address_created', { email: created.email })} token={created.token} />
      )}
    </section>
  )
}

interface AddressRowProps {
  session: KeySession
  action: Action
  onTokenEnd(): void
}

function AddressRow({ session, action, onTokenEnd }: AddressRowProps) {
  const { email, label, messages } = session
  const [token, setToken] = useState('')
  const roll: ActionView = {
    text: t('own_address_roll'),
    confirm: t('own_address_roll_how', { email }),
    async run() {
      const path = '/sessions/roll-token'
      setToken((await requestWithKey<RolledSession>(path, { email })).token)
      onTokenEnd()
      return ''
    },
  }
  const remove: ActionView = {
    text: t('site_delete'),
    danger: true,
    confirm: t('own_address_delete_how', { email }),
    async run() {
      await requestWithKey('/sessions/end', { email })
      onTokenEnd()
      return ''
    },
  }
  return (
    <li tabIndex={-1}>
      <span class="address-name">
        <code dir="ltr">{email}</code> {label !== null && <bdi>{label}</bdi>}
      </span>
      <span class="soft">{t('address_form_limit_count', { count: messages })}</span>
      <span class="row">
        <ActionButton view={roll} name={email} action={action} />
        <ActionButton view={remove} name={email} action={action} />
      </span>
      {token !== '' && <NewToken text={t('own_address_rolled', { email })} token={token} />}
    </li>
  )
}

/** It is not shown again. */
function NewToken({ text, token }: { text: string; token: string }) {
  return (
    <div class="stack address-new">
      <p class="notice good" role="status">
        {text}
      </p>
      <SecretSample text={token} secret={token} label={t('docs_token')} />
      <p>
        <a href={`/#open=${token}`}>{t('own_address_open')}</a>
      </p>
    </div>
  )
}

interface CreateFormProps extends Pick<AddressesProps, 'domains'> {
  action: Action
  onSubmit(form: HTMLFormElement): void
}

function CreateForm({ domains, action, onSubmit }: CreateFormProps) {
  const id = useId()
  return (
    <Form class="key-form" onSubmit={onSubmit}>
      <div class="row address-fields">
        <Field id={`${id}-name`} label={t('address_form_name')}>
          <input
            id={`${id}-name`}
            name="prefix"
            {...VERBATIM}
            aria-invalid={action.error !== ''}
            aria-describedby={`${id}-error`}
          />
        </Field>
        <Field id={`${id}-domain`} label={t('address_form_domain')}>
          <Select
            id={`${id}-domain`}
            name="domain"
            dir="ltr"
            options={domains.map(({ domain, unicode }): Option => [domain, `@${unicode}`])}
          />
        </Field>
        <Field id={`${id}-label`} label={t('own_address_label')}>
          <input id={`${id}-label`} name="label" autocomplete="off" />
        </Field>
      </div>
      <div id={`${id}-error`}>
        <ErrorMessage error={action.error} />
      </div>
      <button type="submit" disabled={action.isBusy}>
        {t('address_form_submit')}
      </button>
    </Form>
  )
}
