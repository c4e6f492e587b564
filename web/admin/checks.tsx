import { useEffect } from 'preact/hooks'
import type { Action } from '../site/action.tsx'
import { Button } from '../site/controls.tsx'
import type { Check, CheckRun } from './api.ts'
import { type EntryView, listView } from './list.tsx'
import { call, type Loaded } from './state.ts'
import { a, timeText } from './texts.ts'

/** What is wrong comes first. */
const TONES = { failure: 'bad', warning: 'warn', ok: 'good', skipped: '' } as const
const ORDER = Object.keys(TONES)

/** The results of the daily checks. What they saw, and the fix, is in English, as `mayfly doctor` prints it. */
export const checksView = listView('checks', () => ({
  lead: a('admin_check_lead'),
  none: a('admin_check_none'),
  head: (loaded, action) => <RunChecks loaded={loaded} action={action} />,
  sort: (checks) =>
    checks.toSorted((one, other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status)),
  entry: checkEntry,
}))

const POLL_MS = 1_000

function RunChecks({ loaded, action }: { loaded: Loaded<CheckRun>; action: Action }) {
  const { finished_at_iso: finished = null, next_at_iso: next = null, running } = loaded.value ?? {}
  const isRunning = action.isBusy || (running ?? null) !== null
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => void loaded.reload(), POLL_MS)
    return () => clearInterval(timer)
  }, [isRunning])
  const run = async () => {
    await call('POST /admin/api/checks/run')
    return ''
  }
  return (
    <>
      <div class="row">
        {/* Not disabled: it would lose the focus. */}
        <Button
          class="plain"
          aria-disabled={isRunning}
          onClick={() => void (isRunning || action.run(run))}
        >
          {a('admin_check_now')}
        </Button>
        <p class="soft admin-times" role="status">
          {isRunning && a('admin_check_running')}
          {!isRunning && finished && (
            <span>{a('admin_check_at', { time: timeText(finished) })}</span>
          )}
          {!isRunning && next && <span>{a('admin_check_next', { time: timeText(next) })}</span>}
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
    </>
  )
}

function checkEntry({ name, subject, status, seen, fix, since_iso: since }: Check): EntryView {
  const title = subject === null ? name : `${name} ${subject}`
  const isWrong = status === 'failure' || status === 'warning'
  return {
    name: title,
    title: <bdi lang="en">{title}</bdi>,
    badge: [a(`admin_check_${status}`), TONES[status]],
    facts: isWrong ? [[a('admin_check_since'), timeText(since)]] : [],
    children: (
      <>
        <p class="admin-seen" lang="en" dir="ltr">
          {seen}
        </p>
        {fix !== '' && (
          <>
            <p class="soft">{a('admin_check_fix')}</p>
            <pre lang="en">{fix}</pre>
          </>
        )}
      </>
    ),
  }
}
