import { domainOf } from '../../src/shared/sender-display.ts'
import type { Message } from '../site/shapes.ts'
import { say } from '../site/words.ts'

type Checks = NonNullable<Message['auth']>

const LOOKS = { proven: 'badge good', forged: 'badge bad', unproven: 'badge' } as const

/** Whether the sender is who he says he is: a word, and why, for who asks. */
export function SenderChecks({ checks, sender }: { checks: Checks; sender: string }) {
  const domain = domainOf(sender)
  // Who names no sender is not said to be somebody else.
  const outcome = domain === '' ? 'unproven' : outcomeOf(checks)
  return (
    <details class="checks">
      <summary class={LOOKS[outcome]}>{say(`reader_${outcome}`, { domain })}</summary>
      <p>{say(`reader_${outcome}_why`, { domain })}</p>
      <dl class="facts">
        {(['dmarc', 'dkim', 'spf'] as const).map((name) => (
          <>
            <dt key={name}>{say(`reader_${name}`)}</dt>
            <dd>{say(`reader_check_${checks[name]}`)}</dd>
          </>
        ))}
      </dl>
    </details>
  )
}

/** `proven`: the domain's owner vouches for it; `forged`: it failed the owner's check; `unproven`: nobody can tell. */
function outcomeOf({ dmarc }: Checks): keyof typeof LOOKS {
  if (dmarc === 'pass') return 'proven'
  return dmarc === 'fail' ? 'forged' : 'unproven'
}
