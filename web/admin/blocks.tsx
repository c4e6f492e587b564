import { t } from '../site/i18n.ts'
import { type FormActionView, listView } from './list.tsx'
import { call, calling } from './state.ts'
import { a, timeText } from './texts.ts'

/** Senders whose mail is refused. */
export const blocksView = listView('blocks', () => ({
  find: [{ name: 'text', label: a('admin_block_find') }],
  add: blockAction(),
  head: ({ value }) => value && <p class="soft">{a('admin_total', { total: value.total })}</p>,
  entry: ({ entry, kind, note, created_at_iso: created, expires_at_iso: ends }) => ({
    name: entry,
    badge: [a(`admin_block_${kind}`), ''],
    facts: [
      [a('admin_note'), note === '' ? null : note],
      [a('admin_created'), timeText(created)],
      [a('admin_ends'), timeText(ends) ?? t('key_never')],
    ],
    actions: [
      {
        text: a('admin_remove'),
        confirm: a('admin_block_remove_how', { entry }),
        run: calling(
          'POST /admin/api/blocks/remove',
          { entry },
          a('admin_done_removed', { name: entry }),
        ),
      },
    ],
  }),
}))

function blockAction(): FormActionView {
  return {
    text: a('admin_block_add'),
    form: {
      submit: a('admin_block_do'),
      fields: [
        { name: 'entry', label: a('admin_block_entry'), hint: a('admin_block_effect') },
        { name: 'note', label: a('admin_note_optional'), isProse: true },
        { name: 'ttl', label: a('admin_block_for'), hint: a('admin_block_for_hint') },
        { name: 'force', label: a('admin_block_force'), value: false },
      ],
    },
    async run(values) {
      const blocked = await call('POST /admin/api/blocks', values)
      return a('admin_done_blocked', { name: blocked.entry })
    },
  }
}
