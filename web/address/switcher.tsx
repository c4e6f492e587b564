import { useRef } from 'preact/hooks'
import { Glyph } from '../site/glyphs.tsx'
import { tell } from '../site/told.ts'
import { say } from '../site/words.ts'
import { leftWords, now } from './countdown.ts'
import { askToEnd, EndDialog } from './farewell.tsx'
import { isOver, type Mailbox } from './mailbox.ts'
import { choose, current, mailboxes } from './mailboxes.ts'
import { Parted } from './parted.tsx'

const ID = 'other-addresses'

/** Opens the list of the other addresses, and goes there. */
export function openSwitcher(): void {
  const list = document.getElementById(ID)
  list?.setAttribute('open', '')
  list?.querySelector('summary')?.focus()
}

/** The other addresses of this browser. */
export function Switcher() {
  const others = mailboxes.value.filter(({ email }) => email !== current.value?.email)
  const summary = useRef<HTMLElement>(null)
  const show = (mailbox: Mailbox) => {
    // What was clicked is not in the list any more: who goes by keyboard goes on from its head.
    summary.current?.focus()
    choose(mailbox)
    tell(say('address_told_shown', { email: mailbox.email }))
  }
  return (
    <>
      {others.length > 0 && (
        <details id={ID} class="switcher">
          <summary ref={summary}>
            <Glyph name="down" />
            {say('address_earlier', { count: others.length })}
          </summary>
          <ul>
            {others.map((mailbox) => (
              <Other key={mailbox.email} mailbox={mailbox} onShow={() => show(mailbox)} />
            ))}
          </ul>
        </details>
      )}
      <EndDialog />
    </>
  )
}

function Other({ mailbox, onShow }: { mailbox: Mailbox; onShow(): void }) {
  const { email } = mailbox
  const over = isOver(mailbox, now.value)
  return (
    <li>
      <button
        type="button"
        class="quiet switcher-choice"
        title={say('address_show', { email })}
        onClick={onShow}
      >
        <span class="switcher-email">
          <bdi>
            <Parted email={email} />
          </bdi>
        </span>
        <span class="soft">{over ? say('address_ended') : leftWords(mailbox)}</span>
      </button>
      <button
        type="button"
        class="quiet icon"
        aria-label={say('address_remove', { email })}
        onClick={() => askToEnd(mailbox)}
      >
        <Glyph name="bin" />
      </button>
    </li>
  )
}
