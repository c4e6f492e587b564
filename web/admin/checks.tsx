import { formatShortTime } from '../site/format.ts'
import { Badge, Entry, EntryList } from './list.tsx'
import { type Response, useLoaded } from './state.ts'
import { a } from './texts.ts'

type Check = Response<'GET /admin/api/checks'>['checks'][number]

/** What is wrong comes first. */
const TONES = { failure: 'bad', warning: 'warn', ok: 'good', skipped: '' } as const
const ORDER = Object.keys(TONES) as (keyof typeof TONES)[]

/** The results of the daily checks. What they saw, and the fix, is in English, as `mayfly doctor` prints it. */
export function ChecksView() {
  const loaded = useLoaded('GET /admin/api/checks')
  const { checks, finished_at_iso: finished } = loaded.value ?? {}
  const sorted =
    checks && ORDER.flatMap((status) => checks.filter((check) => check.status === status))
  return (
    <>
      <p class="soft">
        {a('admin_check_lead')}{' '}
        {finished && a('admin_check_at', { time: formatShortTime(finished) })}
      </p>
      <EntryList
        label={a('admin_view_checks')}
        loaded={loaded}
        entries={sorted}
        none={a('admin_check_none')}
        keyOf={({ name, subject }) => `${name} ${subject}`}
      >
        {(check) => <CheckEntry check={check} />}
      </EntryList>
    </>
  )
}

function CheckEntry({ check }: { check: Check }) {
  const { name, subject, status, seen, fix, since_iso: since } = check
  const isWrong = status === 'failure' || status === 'warning'
  return (
    <Entry
      title={<bdi lang="en">{subject === null ? name : `${name} ${subject}`}</bdi>}
      badges={<Badge tone={TONES[status]}>{a(`admin_check_${status}`)}</Badge>}
      facts={isWrong ? [[a('admin_check_since'), since && formatShortTime(since)]] : []}
    >
      <p class="admin-seen" lang="en" dir="ltr">
        {seen}
      </p>
      {fix !== '' && (
        <>
          <p class="soft">{a('admin_check_fix')}</p>
          <pre lang="en">{fix}</pre>
        </>
      )}
    </Entry>
  )
}
