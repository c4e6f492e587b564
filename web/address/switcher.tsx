import { signal } from '@preact/signals'
import { Dialog } from '../site/dialog.tsx'
import { faultWords } from '../site/fault-words.ts'
import { Glyph } from '../site/glyphs.tsx'
import { say } from '../site/words.ts'
import { leftWords, now } from './countdown.ts'
import { remove } from './deeds.ts'
import { isOver, type Mailbox } from './mailbox.ts'
import { choose, current, mailboxes } from './mailboxes.ts'

/** Which one is about to be ended: asked first, because its mail goes with it. */
const doomed = signal<Mailbox | undefined>(undefined)

/** The other addresses of this browser. */
export function Switcher() {
  const others = mailboxes.value.filter(({ email }) => email !== current.value?.email)
  return (
    <>
      {others.length > 0 && (
        <details class="switcher">
          <summary>
            <Glyph name="down" />
            {say('address_earlier', { count: others.length })}
          </summary>
          <ul>
            {others.map((mailbox) => (
              <Other key={mailbox.email} mailbox={mailbox} />
            ))}
          </ul>
        </details>
      )}
      {doomed.value && <Farewell mailbox={doomed.value} />}
    </>
  )
}

function Other({ mailbox }: { mailbox: Mailbox }) {
  const { email } = mailbox
  const over = isOver(mailbox, now.value)
  return (
    <li>
      <button
        type="button"
        class="quiet switcher-choice"
        aria-label={say('address_show', { email })}
        onClick={() => choose(mailbox)}
      >
        <bdi class="switcher-email">{email}</bdi>
        <span class="soft">{over ? say('address_ended') : leftWords(mailbox)}</span>
      </button>
      <button
        type="button"
        class="quiet icon"
        aria-label={say('address_remove', { email })}
        onClick={() => {
          doomed.value = mailbox
        }}
      >
        <Glyph name="bin" />
      </button>
    </li>
  )
}

const fault = signal('')

function Farewell({ mailbox }: { mailbox: Mailbox }) {
  const close = () => {
    doomed.value = undefined
    fault.value = ''
  }
  return (
    <Dialog title={say('address_remove_title')} onClose={close}>
      <p>{say('address_remove_how', { email: mailbox.email })}</p>
      <p class="fault" role="alert">
        {fault.value}
      </p>
      <div class="row">
        <button type="button" class="danger" onClick={() => void end(mailbox, close)}>
          {say('address_remove_yes')}
        </button>
        <button type="button" class="plain" onClick={close}>
          {say('address_remove_no')}
        </button>
      </div>
    </Dialog>
  )
}

async function end(mailbox: Mailbox, done: () => void): Promise<void> {
  try {
    await remove(mailbox)
    done()
  } catch (found) {
    fault.value = faultWords(found)
  }
}
