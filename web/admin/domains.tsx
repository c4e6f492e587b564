import type { ActionView } from '../site/action.tsx'
import { t } from '../site/i18n.ts'
import type { AdminDomain } from './api.ts'
import type { FieldView, FormValues } from './form.tsx'
import { type EntryView, type FormActionView, listView } from './list.tsx'
import { call, calling } from './state.ts'
import { a } from './texts.ts'

type Options = Pick<AdminDomain, 'ttl' | 'sessions' | 'reader'>

export const domainsView = listView('domains', () => ({
  add: {
    text: a('admin_domain_add'),
    form: {
      submit: a('admin_add'),
      fields: [
        { name: 'name', label: a('admin_name'), hint: a('admin_domain_name_hint') },
        ...optionFields({ name: '', ttl: null, sessions: true, reader: true }),
      ],
    },
    async run(values) {
      const { domain } = await call('POST /admin/api/domains', addedDomain(values))
      return a('admin_done_added', { name: domain.name })
    },
  },
  sort: (domains) => domains.toSorted((one, other) => +one.removed - +other.removed),
  entry: domainEntry,
}))

function domainEntry(domain: AdminDomain): EntryView {
  const { id, name, active, removed, sessions, reader, ttl } = domain
  const yesNo = (flag: boolean) => a(flag ? 'admin_yes' : 'admin_no')
  const values = addedDomain({ name, sessions, reader, ttl: ttl ?? undefined })
  const restore = calling('POST /admin/api/domains', values, a('admin_done_added', { name }))
  const used = active
    ? ([t('key_state_active'), 'good'] as const)
    : ([a('admin_inactive'), 'warn'] as const)
  return {
    key: id,
    name,
    badge: removed ? [a('admin_removed'), ''] : used,
    facts: [
      [a('admin_offered'), yesNo(sessions && active && !removed)],
      [a('admin_pool'), yesNo(reader)],
      [a('admin_life'), ttl ?? a('admin_default')],
    ],
    actions: removed ? [{ text: a('admin_add_again'), run: restore }] : changeActions(domain),
  }
}

function changeActions(domain: AdminDomain): (ActionView | FormActionView)[] {
  const { name, active, ttl, sessions, reader } = domain
  const before = { ttl: ttl ?? undefined, sessions, reader }
  const changing = (values: { active?: boolean; removed?: true }, done: string) =>
    calling('POST /admin/api/domains/change', { name, ...values }, done)
  const toggle = active
    ? {
        text: a('admin_deactivate'),
        confirm: a('admin_domain_off_how', { name }),
        run: changing({ active: false }, a('admin_done_deactivated', { name })),
      }
    : {
        text: a('admin_activate'),
        run: changing({ active: true }, a('admin_done_activated', { name })),
      }
  return [
    {
      text: a('admin_change'),
      form: {
        title: a('admin_domain_change', { name }),
        submit: a('admin_save'),
        fields: optionFields(domain),
      },
      async run(values) {
        // Only what was changed here: a command may have changed the rest meanwhile.
        const changed = Object.entries(values)
          .filter(([option, value]) => before[option as keyof Options] !== value)
          .map(([option, value]) => [option, value ?? 'default'])
        if (changed.length > 0) {
          await call('POST /admin/api/domains/change', { name, ...Object.fromEntries(changed) })
        }
        return a('admin_done_saved', { name })
      },
    },
    toggle,
    {
      text: a('admin_remove'),
      danger: true,
      confirm: a('admin_domain_remove_how', { name }),
      run: changing({ removed: true }, a('admin_done_removed', { name })),
    },
  ]
}

function optionFields({ name, ttl, sessions, reader }: Options & { name: string }): FieldView[] {
  const pool = { name: 'reader', label: a('admin_domain_reader'), value: reader }
  return [
    { name: 'ttl', label: a('admin_life'), hint: a('admin_life_hint'), value: ttl ?? '' },
    { name: 'sessions', label: a('admin_domain_sessions'), value: sessions },
    ...(isWildcard(name) ? [] : [pool]),
  ]
}

/** Only a setting adds a wildcard to the pool. */
function addedDomain({ reader, ...rest }: FormValues): FormValues {
  return isWildcard(String(rest['name'])) ? rest : { ...rest, reader }
}

const isWildcard = (name: string) => name.trim().startsWith('*.')
