import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Glyph } from '../site/glyphs.tsx'
import { spanWords } from '../site/time-words.ts'
import { language, say } from '../site/words.ts'
import { type Hearing, hearing } from './mail.ts'
import { refresh, refreshing } from './refresh.ts'

/** In words, how the page hears of new mail. */
export function Status() {
  const now = hearing.value
  const until = 'until' in now ? now.until : undefined
  return (
    <div class="status">
      <span class={`status-dot ${now.kind}`} aria-hidden="true" />
      <span role="status">{wordsOf(now)}</span>
      {until !== undefined && now.kind !== 'offline' && <Countdown until={until} />}
      {(now.kind === 'away' || now.kind === 'offline') && (
        <button type="button" class="plain small" onClick={() => void refresh()}>
          {say('inbox_try')}
        </button>
      )}
    </div>
  )
}

/** Asks now instead of waiting. */
export function Refresh() {
  return (
    <button
      type="button"
      class={`refresh quiet icon${refreshing.value ? ' busy' : ''}`}
      aria-label={say('inbox_refresh')}
      title={say('inbox_refresh')}
      disabled={!isHearing(hearing.value)}
      onClick={() => void refresh()}
    >
      <Glyph name="again" />
    </button>
  )
}

function wordsOf(now: Hearing): string {
  if (now.kind === 'looking') return say('inbox_looking', { time: span(now.seconds * 1000) })
  return say(`inbox_${now.kind}`)
}

function isHearing({ kind }: Hearing): boolean {
  return kind === 'live' || kind === 'waiting' || kind === 'looking'
}

/** Apart from the words, so that nobody is told every second. */
function Countdown({ until }: { until: number }) {
  const left = useSignal(0)
  useEffect(() => {
    const count = () => {
      left.value = Math.ceil((until - Date.now()) / 1000)
    }
    count()
    const timer = setInterval(count, 1000)
    return () => clearInterval(timer)
  }, [until])
  return <span>{say('inbox_again', { time: span(Math.max(1, left.value) * 1000) })}</span>
}

function span(ms: number): string {
  return spanWords(ms, language.value, 'long')
}
