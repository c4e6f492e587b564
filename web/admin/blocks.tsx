import { useId, useState } from 'preact/hooks'
import { Confirmed } from '../site/confirmed.tsx'
import { VERBATIM } from '../site/controls.tsx'
import { formatShortTime } from '../site/format.ts'
import { t } from '../site/i18n.ts'
import {
  Badge,
  DialogForm,
  Entry,
  EntryList,
  Field,
  FindForm,
  isTicked,
  Tick,
  textsOf,
} from './list.tsx'
import { type Action, call, useAction, useLoaded } from './state.ts'
import { a } from './texts.ts'

/** Senders whose mail is refused. */
export function BlocksView() {
  const [text, setText] = useState<string | undefined>(undefined)
  const loaded = useLoaded('GET /admin/api/blocks', { text })
  const action = useAction(loaded.reload)
  return (
    <>
      <div class="row admin-tools">
        <FindForm label={a('admin_block_find')} onFind={({ find }) => setText(find)} />
        <BlockForm action={action} />
      </div>
      {loaded.value && <p class="soft">{a('admin_total', { total: loaded.value.total })}</p>}
      <EntryList
        label={a('admin_view_blocks')}
        loaded={loaded}
        entries={loaded.value?.blocks}
        none={text === undefined ? a('admin_none') : a('admin_not_found')}
        action={action}
        keyOf={({ entry }) => entry}
      >
        {({ entry, kind, note, created_at_iso: created, expires_at_iso: ends }) => (
          <Entry
            title={<bdi dir="ltr">{entry}</bdi>}
            badges={<Badge>{a(`admin_block_${kind}`)}</Badge>}
            facts={[
              [a('admin_note'), note === '' ? null : note],
              [a('admin_created'), created && formatShortTime(created)],
              [a('admin_ends'), ends === null ? t('key_never') : formatShortTime(ends)],
            ]}
            actions={
              <Confirmed
                name={a('admin_remove')}
                label={entry}
                disabled={action.isBusy}
                run={() =>
                  action.run(
                    () => call('POST /admin/api/blocks/remove', { entry }),
                    a('admin_done_removed', { name: entry }),
                  )
                }
              >
                {a('admin_block_remove_how', { entry })}
              </Confirmed>
            }
          />
        )}
      </EntryList>
    </>
  )
}

function BlockForm({ action }: { action: Action }) {
  const id = useId()
  return (
    <DialogForm
      name={a('admin_block_add')}
      submit={a('admin_block_do')}
      action={action}
      send={async (form) => {
        const { entry, note, ttl } = textsOf(form)
        const values = { entry, note, ttl, ...(isTicked(form, 'force') && { force: true }) }
        const blocked = await call('POST /admin/api/blocks', values)
        return a('admin_done_blocked', { name: blocked.entry })
      }}
    >
      <Field id={`${id}-entry`} label={a('admin_block_entry')} hint={a('admin_block_effect')}>
        <input
          id={`${id}-entry`}
          name="entry"
          aria-describedby={`${id}-entry-hint`}
          {...VERBATIM}
        />
      </Field>
      <Field id={`${id}-note`} label={a('admin_note_optional')}>
        <input id={`${id}-note`} name="note" maxLength={200} autocomplete="off" />
      </Field>
      <Field id={`${id}-ttl`} label={a('admin_block_for')} hint={a('admin_block_for_hint')}>
        <input id={`${id}-ttl`} name="ttl" aria-describedby={`${id}-ttl-hint`} {...VERBATIM} />
      </Field>
      <Tick name="force" label={a('admin_block_force')} />
    </DialogForm>
  )
}
