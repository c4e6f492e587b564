import { Glyph } from '../site/glyphs.tsx'
import { say } from '../site/words.ts'
import { gone, isCurrentOver, leftWords } from './countdown.ts'
import { busy, extend, haveBack } from './deeds.ts'
import { current } from './mailboxes.ts'

/** How long the address still lives, or that it does not any more. */
export function Life() {
  const mailbox = current.value
  if (!mailbox) return <p class="address-life" />
  if (!isCurrentOver.value) {
    return (
      <p class="address-life">
        <Glyph name="clock" />
        <span>{say('address_left', { time: leftWords(mailbox) })}</span>
        <button
          type="button"
          class="quiet small"
          disabled={busy.value}
          onClick={() => void extend(mailbox)}
        >
          {say('address_extend')}
        </button>
      </p>
    )
  }
  const canComeBack = gone.value !== mailbox.token
  return (
    <div class="notice address-over" role="alert">
      <p>
        {say('address_over')} {canComeBack && say('address_over_back')}
      </p>
      {canComeBack && (
        <button type="button" disabled={busy.value} onClick={() => void haveBack(mailbox)}>
          {say('address_back')}
        </button>
      )}
    </div>
  )
}
