import { useId, useState } from 'preact/hooks'
import { formatSize } from '../../src/shared/format-size.ts'
import { Confirmed } from '../site/confirmed.tsx'
import { ErrorMessage, VERBATIM } from '../site/controls.tsx'
import { formatDateTime } from '../site/format.ts'
import { language } from '../site/i18n.ts'
import { Badge, Entry, EntryList, Field, textsOf } from './list.tsx'
import { type Action, call, type Response, useAction, useLoaded } from './state.ts'
import { a } from './texts.ts'

type Session = Response<'GET /admin/api/sessions'>['sessions'][number]

const ORDERS = ['newest', 'largest'] as const

/** Sessions, never their mail. */
export function SessionsView() {
  const [query, setQuery] = useState<{ address?: string; order?: string }>({})
  const [ended, setEnded] = useState('')
  const loaded = useLoaded('GET /admin/api/sessions', query)
  const action = useAction(loaded.reload)
  const id = useId()
  return (
    <>
      <p class="soft">{a('admin_privacy')}</p>
      <form
        class="row admin-find"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          setEnded('')
          setQuery(textsOf(event.currentTarget, 'address', 'order'))
        }}
      >
        <Field id={`${id}-address`} label={a('admin_address')}>
          <input id={`${id}-address`} name="address" type="search" {...VERBATIM} />
        </Field>
        <Field id={`${id}-order`} label={a('admin_order')}>
          <select id={`${id}-order`} name="order">
            {ORDERS.map((order) => (
              <option key={order} value={order}>
                {a(`admin_order_${order}`)}
              </option>
            ))}
          </select>
        </Field>
        <button type="submit">{a('admin_find')}</button>
      </form>
      <section class="panel">
        <div role="status">{ended && <p>{a('admin_session_ended', { address: ended })}</p>}</div>
        <EntryList
          label={a('admin_view_sessions')}
          loaded={loaded}
          entries={loaded.value?.sessions}
          none={query.address === undefined ? a('admin_none') : a('admin_not_found')}
          keyOf={({ email }) => email}
        >
          {(session) => <SessionEntry session={session} action={action} onEnd={setEnded} />}
        </EntryList>
        <ErrorMessage error={action.error} />
      </section>
    </>
  )
}

interface SessionEntryProps {
  session: Session
  action: Action
  onEnd(address: string): void
}

function SessionEntry({ session, action, onEnd }: SessionEntryProps) {
  const { email: address, created_at_iso: created, expires_at_iso: expires } = session
  const end = async () => {
    if (await action.run(() => call('POST /admin/api/sessions/end', { address }))) onEnd(address)
  }
  return (
    <Entry
      title={<bdi dir="ltr">{address}</bdi>}
      badges={session.key && <Badge>{a('admin_session_key')}</Badge>}
      facts={[
        [a('admin_messages'), session.messages.toLocaleString(language.value)],
        [a('admin_size'), formatSize(session.bytes, language.value)],
        [a('admin_created'), created && formatDateTime(created)],
        [a('admin_ends'), expires && formatDateTime(expires)],
      ]}
      actions={
        <Confirmed
          name={a('admin_session_end')}
          label={address}
          class="danger"
          disabled={action.isBusy}
          run={end}
        >
          {a('admin_session_end_how', { address })}
        </Confirmed>
      }
    />
  )
}
