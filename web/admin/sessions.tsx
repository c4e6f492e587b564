import { useId, useState } from 'preact/hooks'
import { formatSize } from '../../src/shared/format-size.ts'
import { Confirmed } from '../site/confirmed.tsx'
import { formatShortTime } from '../site/format.ts'
import { language } from '../site/i18n.ts'
import { Badge, Entry, EntryList, Field, FindForm } from './list.tsx'
import { type Action, call, type Response, useAction, useLoaded } from './state.ts'
import { a } from './texts.ts'

type Session = Response<'GET /admin/api/sessions'>['sessions'][number]

const ORDERS = ['newest', 'largest'] as const

/** Sessions, never their mail. */
export function SessionsView() {
  const [query, setQuery] = useState<{ address?: string; order?: string }>({})
  const loaded = useLoaded('GET /admin/api/sessions', query)
  const action = useAction(loaded.reload)
  const id = useId()
  return (
    <>
      <p class="soft">{a('admin_privacy')}</p>
      <FindForm
        label={a('admin_address')}
        onFind={({ find, order = '' }) => setQuery({ ...(find && { address: find }), order })}
      >
        <Field id={id} label={a('admin_order')}>
          <select id={id} name="order">
            {ORDERS.map((order) => (
              <option key={order} value={order}>
                {a(`admin_order_${order}`)}
              </option>
            ))}
          </select>
        </Field>
      </FindForm>
      <EntryList
        label={a('admin_view_sessions')}
        loaded={loaded}
        entries={loaded.value?.sessions}
        none={query.address === undefined ? a('admin_none') : a('admin_not_found')}
        action={action}
        keyOf={({ email }) => email}
      >
        {(session) => <SessionEntry session={session} action={action} />}
      </EntryList>
    </>
  )
}

function SessionEntry({ session, action }: { session: Session; action: Action }) {
  const { email: address, created_at_iso: created, expires_at_iso: expires } = session
  return (
    <Entry
      title={<bdi dir="ltr">{address}</bdi>}
      badges={session.key && <Badge>{a('admin_session_key')}</Badge>}
      facts={[
        [a('admin_messages'), session.messages.toLocaleString(language.value)],
        [a('admin_size'), formatSize(session.bytes, language.value)],
        [a('admin_created'), created && formatShortTime(created)],
        [a('admin_ends'), expires && formatShortTime(expires)],
      ]}
      actions={
        <Confirmed
          name={a('admin_session_end')}
          label={address}
          class="danger"
          disabled={action.isBusy}
          run={() =>
            action.run(
              () => call('POST /admin/api/sessions/end', { address }),
              a('admin_session_ended', { address }),
            )
          }
        >
          {a('admin_session_end_how', { address })}
        </Confirmed>
      }
    />
  )
}
