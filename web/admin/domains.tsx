import { useId } from 'preact/hooks'
import { Confirmed } from '../site/confirmed.tsx'
import { Button, VERBATIM } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { Badge, DialogForm, Entry, EntryList, Field, isTicked, Tick, textsOf } from './list.tsx'
import { type Action, call, type Response, useAction, useLoaded } from './state.ts'
import { a } from './texts.ts'

type Domain = Response<'GET /admin/api/domains'>['domains'][number]
type Options = Pick<Domain, 'ttl' | 'sessions' | 'reader'>

export function DomainsView() {
  const loaded = useLoaded('GET /admin/api/domains')
  const action = useAction(loaded.reload)
  const domains = loaded.value?.domains
  return (
    <>
      <div class="row">
        <DialogForm
          name={a('admin_domain_add')}
          submit={a('admin_add')}
          action={action}
          send={async (form) => {
            const { ttl, ...options } = optionsOf(form)
            const { name = '' } = textsOf(form)
            await call('POST /admin/api/domains', { name, ...options, ttl: ttl ?? undefined })
            return a('admin_done_added', { name })
          }}
        >
          <NameField />
          <OptionFields ttl={null} sessions={true} reader={true} />
        </DialogForm>
      </div>
      <EntryList
        label={a('admin_view_domains')}
        loaded={loaded}
        entries={domains?.toSorted((one, other) => Number(one.removed) - Number(other.removed))}
        action={action}
        keyOf={({ id }) => id}
      >
        {(domain) => <DomainEntry domain={domain} action={action} />}
      </EntryList>
    </>
  )
}

function DomainEntry({ domain, action }: { domain: Domain; action: Action }) {
  const { name, active, removed, sessions, reader, ttl } = domain
  const yesNo = (flag: boolean) => a(flag ? 'admin_yes' : 'admin_no')
  return (
    <Entry
      title={<bdi dir="ltr">{name}</bdi>}
      badges={<State domain={domain} />}
      facts={[
        [a('admin_offered'), yesNo(sessions && active && !removed)],
        [a('admin_pool'), yesNo(reader)],
        [a('admin_life'), ttl ?? a('admin_default')],
      ]}
      actions={<DomainActions domain={domain} action={action} />}
    />
  )
}

function State({ domain: { active, removed } }: { domain: Domain }) {
  if (removed) return <Badge>{a('admin_removed')}</Badge>
  return active ? (
    <Badge tone="good">{t('key_state_active')}</Badge>
  ) : (
    <Badge tone="warn">{a('admin_inactive')}</Badge>
  )
}

function DomainActions({ domain, action }: { domain: Domain; action: Action }) {
  const { name, active, removed, ...options } = domain
  const change = (values: Record<string, string | boolean>, message: string) =>
    action.run(() => call('POST /admin/api/domains/change', { name, ...values }), message)
  if (removed) {
    const { sessions, reader, ttl } = options
    const values = { name, sessions, reader, ttl: ttl ?? undefined }
    return (
      <Button
        class="plain"
        disabled={action.isBusy}
        aria-label={`${a('admin_add_again')}: ${name}`}
        onClick={() =>
          void action.run(
            () => call('POST /admin/api/domains', values),
            a('admin_done_added', { name }),
          )
        }
      >
        {a('admin_add_again')}
      </Button>
    )
  }
  return (
    <>
      <DialogForm
        name={a('admin_change')}
        title={a('admin_domain_change', { name })}
        submit={a('admin_save')}
        action={action}
        send={async (form) => {
          // Only what was changed here: a command may have changed the rest meanwhile.
          const changed = Object.entries(optionsOf(form)).filter(
            ([option, value]) => options[option as keyof Options] !== value,
          )
          const values = changed.map(([option, value]) => [option, value ?? 'default'])
          if (values.length > 0) {
            await call('POST /admin/api/domains/change', { name, ...Object.fromEntries(values) })
          }
          return a('admin_done_saved', { name })
        }}
      >
        <OptionFields {...options} />
      </DialogForm>
      {active ? (
        <Confirmed
          name={a('admin_deactivate')}
          label={name}
          disabled={action.isBusy}
          run={() => change({ active: false }, a('admin_done_deactivated', { name }))}
        >
          {a('admin_domain_off_how', { name })}
        </Confirmed>
      ) : (
        <Button
          class="plain"
          disabled={action.isBusy}
          aria-label={`${a('admin_activate')}: ${name}`}
          onClick={() => void change({ active: true }, a('admin_done_activated', { name }))}
        >
          {a('admin_activate')}
        </Button>
      )}
      <Confirmed
        name={a('admin_remove')}
        label={name}
        class="danger"
        disabled={action.isBusy}
        run={() => change({ removed: true }, a('admin_done_removed', { name }))}
      >
        {a('admin_domain_remove_how', { name })}
      </Confirmed>
    </>
  )
}

function NameField() {
  const id = useId()
  return (
    <Field id={id} label={a('admin_name')}>
      <input id={id} name="name" {...VERBATIM} />
    </Field>
  )
}

function OptionFields({ ttl, sessions, reader }: Options) {
  const id = useId()
  return (
    <>
      <Field id={id} label={a('admin_life')} hint={a('admin_life_hint')}>
        <input
          id={id}
          name="ttl"
          defaultValue={ttl ?? ''}
          aria-describedby={`${id}-hint`}
          {...VERBATIM}
        />
      </Field>
      <Tick name="sessions" label={a('admin_domain_sessions')} checked={sessions} />
      <Tick name="reader" label={a('admin_domain_reader')} checked={reader} />
    </>
  )
}

function optionsOf(form: HTMLFormElement): Options {
  return {
    ttl: textsOf(form)['ttl'] ?? null,
    sessions: isTicked(form, 'sessions'),
    reader: isTicked(form, 'reader'),
  }
}
