import { ApiError } from '../site/api-client.ts'
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

/** By the words of the service about an entry that it blocks only with `force`. */
const DANGERS = {
  private: / private addresses/,
  wide: / wider than /,
  top: / top-level domain/,
  own: / of this installation/,
} as const
const DANGER_NAMES = Object.keys(DANGERS) as (keyof typeof DANGERS)[]

function dangerText(error: unknown): string | undefined {
  const message = error instanceof ApiError ? error.message : ''
  const [, entry = '', danger = ''] = /^(\S+)( .*): confirm it with force\.$/.exec(message) ?? []
  const name = DANGER_NAMES.find((one) => DANGERS[one].test(danger))
  return name && a(`admin_block_danger_${name}`, { entry })
}

export function blockAction(sender = ''): FormActionView {
  return {
    text: a('admin_block_add'),
    form: {
      submit: a('admin_block_do'),
      fields: [
        {
          name: 'entry',
          label: a('admin_block_entry'),
          hint: a('admin_block_effect'),
          value: sender,
        },
        { name: 'note', label: a('admin_note_optional'), isProse: true },
        { name: 'ttl', label: a('admin_block_for'), hint: a('admin_block_for_hint') },
      ],
      warning: { text: dangerText, submit: a('admin_block_force') },
    },
    async run(values) {
      const blocked = await call('POST /admin/api/blocks', values)
      return a('admin_done_blocked', { name: blocked.entry })
    },
  }
}
