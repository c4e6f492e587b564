import { useEffect, useState } from 'preact/hooks'
import { Button } from '../site/controls.tsx'
import { formatDuration } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { type ConnectionStatus, connectionStatus } from './messages.ts'
import { refresh, refreshing } from './sync/sync.ts'

export function StatusLine() {
  const now = connectionStatus.value
  const until = 'until' in now ? now.until : undefined
  return (
    <div class="status row">
      <span class="status-text">
        <span class={`status-dot ${now.kind}`} aria-hidden="true" />
        <span role="status">{statusText(now)}</span>{' '}
        {until !== undefined && now.kind !== 'offline' && <RetryCountdown until={until} />}
      </span>
      {(now.kind === 'unreachable' || now.kind === 'offline') && (
        <Button class="plain small" onClick={() => void refresh()}>
          {t('inbox_retry_now')}
        </Button>
      )}
    </div>
  )
}

export function RefreshButton() {
  const { kind } = connectionStatus.value
  return (
    <Button
      icon="again"
      class={`refresh quiet icon${refreshing.value ? ' busy' : ''}`}
      aria-label={t('inbox_refresh')}
      title={t('inbox_refresh')}
      disabled={kind !== 'live' && kind !== 'looking'}
      onClick={() => void refresh()}
    />
  )
}

function statusText(now: ConnectionStatus): string {
  if (now.kind === 'looking') return t('inbox_looking', { time: durationText(now.seconds * 1000) })
  // In the words of the address bar.
  if (now.kind === 'unreachable' || now.kind === 'limited') return t(`address_${now.kind}`)
  return t(`inbox_${now.kind}`)
}

/** Outside the live region, so that a screen reader does not read every second. */
function RetryCountdown({ until }: { until: number }) {
  const [left, setLeft] = useState(0)
  useEffect(() => {
    const count = () => setLeft(Math.ceil((until - Date.now()) / 1000))
    count()
    const timer = setInterval(count, 1000)
    return () => clearInterval(timer)
  }, [until])
  return <span>{t('site_retrying_in', { time: durationText(Math.max(1, left) * 1000) })}</span>
}

function durationText(ms: number): string {
  return formatDuration(ms, language.value, 'long')
}
