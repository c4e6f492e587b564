import { useId, useState } from 'preact/hooks'
import { Confirmed } from '../site/confirmed.tsx'
import { ErrorMessage, VERBATIM } from '../site/controls.tsx'
import { formatDateTime } from '../site/format.ts'
import { t } from '../site/i18n.ts'
import { Badge, Entry, EntryList, Field, isTicked, Tick, textsOf } from './list.tsx'
import { call, useAction, useLoaded } from './state.ts'
import { a } from './texts.ts'

/** Senders whose mail is refused. */
export function BlocksView() {
  const [text, setText] = useState<string | undefined>(undefined)
  const loaded = useLoaded('GET /admin/api/blocks', { text })
  const { isBusy, error, run } = useAction(loaded.reload)
  const id = useId()
  return (
    <>
      <AddForm done={loaded.reload} />
      <form
        class="row admin-find"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          setText(textsOf(event.currentTarget, 'text')['text'])
        }}
      >
        <Field id={id} label={a('admin_block_entry')}>
          <input id={id} name="text" type="search" {...VERBATIM} />
        </Field>
        <button type="submit" class="plain">
          {a('admin_find')}
        </button>
      </form>
      <section class="panel">
        <EntryList
          label={a('admin_view_blocks')}
          loaded={loaded}
          entries={loaded.value?.blocks}
          none={text === undefined ? a('admin_none') : a('admin_not_found')}
          keyOf={({ entry }) => entry}
        >
          {({ entry, kind, note, created_at_iso: created, expires_at_iso: ends }) => (
            <Entry
              title={<bdi dir="ltr">{entry}</bdi>}
              badges={<Badge>{a(`admin_block_${kind}`)}</Badge>}
              facts={[
                [a('admin_note'), note === '' ? null : note],
                [a('admin_created'), created && formatDateTime(created)],
                [a('admin_ends'), ends === null ? t('key_never') : formatDateTime(ends)],
              ]}
              actions={
                <Confirmed
                  name={a('admin_remove')}
                  label={entry}
                  disabled={isBusy}
                  run={() => run(() => call('POST /admin/api/blocks/remove', { entry }))}
                >
                  {a('admin_block_remove_how', { entry })}
                </Confirmed>
              }
            />
          )}
        </EntryList>
        <ErrorMessage error={error} />
      </section>
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
        const values = {
          ...textsOf(form, 'entry', 'note', 'ttl'),
          ...(isTicked(form, 'force') && { force: true }),
        }
        if (await run(() => call('POST /admin/api/blocks', values))) form.reset()
      }}
    >
      <h3 id={`${id}-title`}>{a('admin_block_add')}</h3>
      <div class="stack">
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
        <ErrorMessage error={error} />
        <div class="row">
          <button type="submit" disabled={isBusy}>
            {a('admin_block_do')}
          </button>
        </div>
      </div>
    </form>
  )
}
