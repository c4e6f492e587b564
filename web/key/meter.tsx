import { useId } from 'preact/hooks'
import { comma, language, say } from '../site/words.ts'

interface MeterProps {
  label: string
  used: number
  all: number
  left: number
}

/** How much of something is used, as a bar and in numbers. */
export function Meter({ label, used, all, left }: MeterProps) {
  const id = useId()
  const numbers = say('key_used', { count: used, all: all.toLocaleString(language.value) })
  const rest = say('key_left', { count: left })
  // A plan may have been cut below what was used.
  const share = all === 0 ? 1 : Math.min(1, used / all)
  return (
    <div class="meter">
      <div class="meter-words">
        <span id={id}>{label}</span>
        <span>
          {numbers}
          {comma()}
          <strong>{rest}</strong>
        </span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: browsers draw <meter> each in its own way, and none in our colours */}
      <div
        class={`bar ${left === 0 ? 'full' : ''}`}
        role="meter"
        aria-labelledby={id}
        aria-valuemin={0}
        aria-valuemax={all}
        aria-valuenow={Math.min(used, all)}
        aria-valuetext={`${numbers}${comma()}${rest}`}
      >
        <div style={{ width: `${share * 100}%` }} />
      </div>
    </div>
  )
}
