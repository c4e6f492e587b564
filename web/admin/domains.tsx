import { useId, useState } from 'preact/hooks'
import { Confirmed } from '../site/confirmed.tsx'
import { Button, ErrorMessage, VERBATIM } from '../site/controls.tsx'
import { Dialog } from '../site/dialog.tsx'
import { t } from '../site/i18n.ts'
import { Badge, Entry, EntryList, Field, isTicked, Tick, textsOf } from './list.tsx'
import { type Action, call, type Response, useAction, useLoaded } from './state.ts'
import { a } from './texts.ts'

type Domain = Response<'GET /admin/api/domains'>['domains'][number]

export function DomainsView() {
  const loaded = useLoaded('GET /admin/api/domains')
  const action = useAction(loaded.reload)
  return (
    <>
      <section class="panel">
        <EntryList
          label={a('admin_view_domains')}
          loaded={loaded}
          entries={loaded.value?.domains}
          keyOf={({ id }) => id}
        >
          {(domain) => <DomainEntry domain={domain} action={action} />}
        </EntryList>
        <ErrorMessage error={action.error} />
      </section>
      <AddForm done={loaded.reload} />
    </>
  )
}

function DomainEntry({ domain, action }: { domain: Domain; action: Action }) {
  const [isEdited, setEdited] = useState(false)
  const { name, active, removed, sessions, reader, ttl } = domain
  const change = (values: Record<string, string | boolean>) =>
    action.run(() => call('POST /admin/api/domains/change', { name, ...values }))
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
      actions={
        !removed && (
          <>
            <Button
              class="plain"
              aria-label={a('admin_domain_change', { name })}
              onClick={() => setEdited(true)}
            >
              {a('admin_change')}
            </Button>
            {active ? (
              <Confirmed
                name={a('admin_deactivate')}
                label={name}
                disabled={action.isBusy}
                run={() => change({ active: false })}
              >
                {a('admin_domain_off_how', { name })}
              </Confirmed>
            ) : (
              <Button
                class="plain"
                disabled={action.isBusy}
                aria-label={`${a('admin_activate')}: ${name}`}
                onClick={() => void change({ active: true })}
              >
                {a('admin_activate')}
              </Button>
            )}
            <Confirmed
              name={a('admin_remove')}
              label={name}
              class="danger"
              disabled={action.isBusy}
              run={() => change({ removed: true })}
            >
              {a('admin_domain_remove_how', { name })}
            </Confirmed>
          </>
        )
      }
    >
      {isEdited && <ChangeDialog domain={domain} action={action} close={() => setEdited(false)} />}
    </Entry>
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

interface ChangeDialogProps {
  domain: Domain
  action: Action
  close(): void
}

function ChangeDialog({ domain, action, close }: ChangeDialogProps) {
  const { name, sessions, reader, ttl } = domain
  return (
    <Dialog title={a('admin_domain_change', { name })} onClose={close}>
      <form
        class="stack"
        noValidate
        onSubmit={async (event) => {
          event.preventDefault()
          const form = event.currentTarget
          const values = {
            name,
            ttl: 'default',
            ...textsOf(form, 'ttl'),
            sessions: isTicked(form, 'sessions'),
            reader: isTicked(form, 'reader'),
          }
          if (await action.run(() => call('POST /admin/api/domains/change', values))) close()
        }}
      >
        <Options ttl={ttl ?? ''} sessions={sessions} reader={reader} />
        <ErrorMessage error={action.error} />
        <div class="row">
          <button type="submit" disabled={action.isBusy}>
            {a('admin_save')}
          </button>
          <Button class="plain" onClick={close}>
            {t('site_cancel')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function Options(props: { ttl: string; sessions: boolean; reader: boolean }) {
  const id = useId()
  return (
    <>
      <Field id={id} label={a('admin_life')} hint={a('admin_life_hint')}>
        <input
          id={id}
          name="ttl"
          defaultValue={props.ttl}
          aria-describedby={`${id}-hint`}
          {...VERBATIM}
        />
      </Field>
      <Tick name="sessions" label={a('admin_domain_sessions')} checked={props.sessions} />
      <Tick name="reader" label={a('admin_domain_reader')} checked={props.reader} />
    </>
  )
}

function AddForm({ done }: { done(): Promise<void> }) {
  const id = useId()
  const { isBusy, error, run } = useAction(done)
  return (
    <form
      class="panel"
      aria-labelledby={`${id}-title`}
      noValidate
      onSubmit={async (event) => {
        event.preventDefault()
        const form = event.currentTarget
        const flags = { sessions: isTicked(form, 'sessions'), reader: isTicked(form, 'reader') }
        const values = { ...textsOf(form, 'name', 'ttl'), ...flags }
        if (await run(() => call('POST /admin/api/domains', values))) form.reset()
      }}
    >
      <h3 id={`${id}-title`}>{a('admin_domain_add')}</h3>
      <div class="stack">
        <Field id={`${id}-name`} label={a('admin_name')}>
          <input id={`${id}-name`} name="name" {...VERBATIM} />
        </Field>
        <Options ttl="" sessions={true} reader={true} />
        <ErrorMessage error={error} />
        <div class="row">
          <button type="submit" disabled={isBusy}>
            {a('admin_add')}
          </button>
        </div>
      </div>
    </form>
  )
}
