import type { ProblemCode } from '../../src/base/problem.ts'
import { ApiError } from '../site/api-client.ts'
import { t } from '../site/i18n.ts'
import type { FormValues } from './form.tsx'
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

/** What the service blocks only with `force`, by the code of its error. */
const DANGERS = {
  entry_private: 'admin_block_danger_private',
  entry_wide: 'admin_block_danger_wide',
  entry_top_level: 'admin_block_danger_top',
  entry_own: 'admin_block_danger_own',
} as const satisfies Partial<Record<ProblemCode, string>>

function dangerText(error: unknown, { entry }: FormValues): string | undefined {
  const names: Partial<Record<string, (typeof DANGERS)[keyof typeof DANGERS]>> = DANGERS
  const name = error instanceof ApiError ? names[error.code] : undefined
  return name && a(name, { entry: String(entry) })
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
