import { useState } from 'preact/hooks'
import type { Catalogue } from '../../src/shared/translate.ts'
import { type ActionView, useAction } from '../site/action.tsx'
import type { OwnDomain } from '../site/api.ts'
import { domainBadge } from '../site/domain-badge.ts'
import { errorTexts } from '../site/error-texts.ts'
import { Facts } from '../site/facts.tsx'
import { formatDateTime } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { Records } from './dns-records.tsx'
import { Entry, EntryActions } from './entry.tsx'
import { requestWithKey } from './key-state.ts'

interface DomainViewProps {
  domain: OwnDomain
  isNew: boolean
  reload(): Promise<void>
}

const errorText = errorTexts({
  invalid_domain: 'own_error_alias',
  domain_reserved: 'own_error_reserved',
  record_missing: 'own_error_record',
  domain_held: 'own_error_held',
  dns_failed: 'own_error_dns',
})

export function DomainView({ domain, isNew, reload }: DomainViewProps) {
  const { state, unicode, records } = domain
  const action = useAction({ done: reload, shown: errorText })
  // Only at first: one that has just been verified stays open.
  const [isOpen] = useState(isNew || state !== 'active' || domain.suspends_at_iso !== null)
  return (
    <Entry name={unicode} badge={domainBadge(domain)} isOpen={isOpen}>
      <Notice domain={domain} />
      {needsRecord(domain) && <Records records={records} />}
      {state !== 'pending' && <DomainFacts domain={domain} />}
      {!needsRecord(domain) && (
        <details class="more">
          <summary>{t('own_records')}</summary>
          <Records records={records} />
        </details>
      )}
      <EntryActions views={actionsOf(domain, reload)} action={action} />
    </Entry>
  )
}

function needsRecord({ state, missing_since_iso: since }: OwnDomain): boolean {
  return state === 'pending' || since !== null
}

const SUSPENDED: Partial<Record<string, keyof Catalogue>> = {
  record_missing: 'own_suspended_record',
  suspended_by_operator: 'own_suspended_operator',
  key_stopped: 'own_suspended_key',
  key_expired: 'own_suspended_key',
  restored: 'own_suspended_restored',
}
const WARNINGS: typeof SUSPENDED = {
  record_missing: 'own_warning_record',
  key_stopped: 'own_warning_key',
  key_expired: 'own_warning_key',
  not_checked: 'own_warning_unchecked',
}

/** What is wrong, and what to do. */
function Notice({ domain }: { domain: OwnDomain }) {
  const { state, missing_since_iso: since, suspends_at_iso: end } = domain
  const reason = domain.reason ?? ''
  if (state === 'pending') {
    return (
      <>
        {reason === 'taken_over' && <p class="notice bad">{t('own_taken_over')}</p>}
        <p>{t('own_records_how')}</p>
      </>
    )
  }
  const name = (state === 'suspended' ? SUSPENDED : WARNINGS)[reason]
  if (!name) return null
  const missing = since === null ? '' : formatDateTime(since)
  const time = end === null ? '' : formatDateTime(end)
  return <p class={`notice ${state === 'suspended' ? 'bad' : ''}`}>{t(name, { missing, time })}</p>
}

function DomainFacts({ domain }: { domain: OwnDomain }) {
  const { verified_at_iso: verified, checked_at_iso: checked, catch_all: isOn } = domain
  return (
    <Facts
      facts={[
        [t('own_taken'), domain.taken.toLocaleString(language.value)],
        [t('own_refused'), domain.refused.toLocaleString(language.value)],
        [t('own_catch_all'), t(isOn ? 'own_catch_all_on' : 'own_catch_all_off')],
        [t('own_verified_at'), verified && formatDateTime(verified)],
        [t('own_checked'), checked && formatDateTime(checked)],
      ]}
    />
  )
}

function actionsOf(domain: OwnDomain, reload: () => Promise<void>): ActionView[] {
  const { id, unicode, state, catch_all: isOn } = domain
  const call = (path: string, values = {}) => requestWithKey(`/domains/${id}${path}`, values)
  const verify: ActionView = {
    text: t('own_verify'),
    ...(needsRecord(domain) && { primary: true }),
    async run() {
      try {
        await call('/verify')
      } catch (error) {
        // It may have changed the state nevertheless.
        await reload()
        throw error
      }
      return t('own_verified', { domain: unicode })
    },
  }
  const toggle: ActionView = {
    text: t(isOn ? 'own_catch_all_turn_off' : 'own_catch_all_turn_on'),
    async run() {
      await call('', { catch_all: isOn ? '0' : '1' })
      return ''
    },
  }
  const remove: ActionView = {
    text: t('own_delete'),
    danger: true,
    confirm: t(state === 'pending' ? 'own_delete_pending' : 'own_delete_how', { domain: unicode }),
    async run() {
      await call('/delete')
      return ''
    },
  }
  const isBanned = domain.reason === 'suspended_by_operator'
  return [
    ...(isBanned ? [] : [verify]),
    ...(state === 'pending' ? [] : [toggle]),
    ...(isBanned ? [] : [remove]),
  ]
}
