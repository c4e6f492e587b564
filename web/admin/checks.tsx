import { useEffect } from 'preact/hooks'
import { Button } from '../site/controls.tsx'
import { formatShortTime } from '../site/format.ts'
import { Badge, Entry, EntryList } from './list.tsx'
import { call, type Response, useAction, useLoaded } from './state.ts'
import { a } from './texts.ts'

type Check = Response<'GET /admin/api/checks'>['checks'][number]

/** What is wrong comes first. */
const TONES = { failure: 'bad', warning: 'warn', ok: 'good', skipped: '' } as const
const ORDER = Object.keys(TONES) as (keyof typeof TONES)[]

const POLL_MS = 1_000

/** The results of the daily checks. What they saw, and the fix, is in English, as `mayfly doctor` prints it. */
export function ChecksView() {
  const loaded = useLoaded('GET /admin/api/checks')
  const action = useAction(loaded.reload)
  const { checks, finished_at_iso: finished, next_at_iso: next, running } = loaded.value ?? {}
  const isRunning = action.isBusy || (running ?? null) !== null
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => void loaded.reload(), POLL_MS)
    return () => clearInterval(timer)
  }, [isRunning])
  const sorted =
    checks && ORDER.flatMap((status) => checks.filter((check) => check.status === status))
  const times = [
    finished && a('admin_check_at', { time: formatShortTime(finished) }),
    next && a('admin_check_next', { time: formatShortTime(next) }),
  ]
  return (
    <>
      <p class="soft">{a('admin_check_lead')}</p>
      <div class="row">
        {/* Not disabled: it would lose the focus. */}
        <Button
          class="plain"
          aria-disabled={isRunning}
          onClick={() => {
            if (!isRunning) void action.run(() => call('POST /admin/api/checks/run'))
          }}
        >
          {a('admin_check_now')}
        </Button>
        <p class="soft admin-times" role="status">
          {isRunning
            ? a('admin_check_running')
            : times.map((time) => time && <span key={time}>{time}</span>)}
        </p>
      </div>
      {isRunning && (
        <progress
          class="admin-progress"
          aria-label={a('admin_check_now')}
          value={running?.done}
          max={running?.all}
        />
      )}
      <EntryList
        label={a('admin_view_checks')}
        loaded={loaded}
        entries={sorted}
        none={a('admin_check_none')}
        action={action}
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
