import type { Message } from '../site/shapes.ts'
import { say } from '../site/words.ts'
import { domainOf, verdictOf } from './sender.ts'

type Checks = NonNullable<Message['auth']>

const LOOKS = { proven: 'badge good', forged: 'badge bad', unproven: 'badge' } as const

/** Whether the sender is who he says he is: a word, and why, for who asks. */
export function SenderChecks({ checks, sender }: { checks: Checks; sender: string }) {
  const domain = domainOf(sender)
  // Who names no sender is not said to be somebody else.
  const verdict = domain === '' ? 'unproven' : verdictOf(checks)
  return (
    <details class="checks">
      <summary class={LOOKS[verdict]}>{say(`reader_${verdict}`, { domain })}</summary>
      <p>{say(`reader_${verdict}_why`, { domain })}</p>
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
