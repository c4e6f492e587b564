import { language } from '../site/i18n.ts'
import type { AdminSession } from './api.ts'
import { type EntryView, listView } from './list.tsx'
import { calling } from './state.ts'
import { a, sizeText, timeText } from './texts.ts'

const ORDERS = ['newest', 'largest'] as const

/** Sessions, never their mail. */
export const sessionsView = listView('sessions', () => ({
  lead: a('admin_privacy'),
  find: [
    { name: 'address', label: a('admin_address') },
    {
      name: 'order',
      label: a('admin_order'),
      options: ORDERS.map((order) => [order, a(`admin_order_${order}`)]),
    },
  ],
  entry: sessionEntry,
}))

export function sessionEntry({ email: address, ...session }: AdminSession): EntryView {
  return {
    name: address,
    badge: session.key && [a('admin_session_key'), ''],
    facts: [
      [a('admin_messages'), session.messages.toLocaleString(language.value)],
      [a('admin_size'), sizeText(session.bytes)],
      [a('admin_created'), timeText(session.created_at_iso)],
      [a('admin_ends'), timeText(session.expires_at_iso)],
    ],
    actions: [
      {
        text: a('admin_session_end'),
        danger: true,
        confirm: a('admin_session_end_how', { address }),
        run: calling(
          'POST /admin/api/sessions/end',
          { address },
          a('admin_session_ended', { address }),
        ),
      },
    ],
  }
}
