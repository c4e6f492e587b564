import { signal, useComputed } from '@preact/signals'
import { displaySender } from '../../src/shared/sender-display.ts'
import { copyText } from '../site/copy-button.tsx'
import { Glyph } from '../site/glyphs.tsx'
import type { Summary } from '../site/shapes.ts'
import { tell } from '../site/told.ts'
import { language, say } from '../site/words.ts'
import { tick } from './chosen.ts'
import { deleteRow, setCursor } from './deeds.ts'
import { rowId } from './focus.ts'
import { open } from './opened.ts'
import { receivedText } from './received.ts'

export interface RowProps {
  message: Summary
  isUnread: boolean
  isChosen: boolean
  isOpen: boolean
}

/** One message of the list. */
export function Row({ message, isUnread, isChosen, isOpen }: RowProps) {
  const { id, code } = message
  const { title: sender } = displaySender(message.sender_name, message.sender_email)
  const subject = message.subject || say('reader_no_subject')
  return (
    <li
      class={`mail${isUnread ? ' unread' : ''}${isOpen ? ' open' : ''}`}
      style={code ? { '--code-length': code.length } : undefined}
    >
      <label class="mail-tick">
        <input
          type="checkbox"
          checked={isChosen}
          aria-label={say('inbox_select', { subject })}
          onChange={({ currentTarget }) => tick(id, currentTarget.checked)}
        />
      </label>
      <button
        type="button"
        class="mail-open"
        id={rowId(id)}
        aria-current={isOpen || undefined}
        onClick={() => open(id)}
        onFocus={() => setCursor(id)}
      >
        {isUnread && <span class="unseen">{say('inbox_unread_mark')}</span>}
        <span class="mail-from">
          <bdi>{sender || say('reader_nobody')}</bdi>
        </span>
        <Received at={message.received_at_iso} />
        <span class="mail-subject">
          <bdi>{subject}</bdi>
        </span>
      </button>
      {code && <CodeChip code={code} />}
      <button
        type="button"
        class="mail-delete quiet icon"
        // The keyboard has # and the ticks: three stops for each message would be too many.
        tabIndex={-1}
        aria-label={say('inbox_delete_row', { subject })}
        title={say('inbox_delete')}
        onClick={() => deleteRow(id)}
      >
        <Glyph name="bin" />
      </button>
    </li>
  )
}

/** Now, as exact as a list of mail needs it. */
const minute = signal(new Date())

const STEP_MS = 20_000

setInterval(() => {
  minute.value = new Date()
}, STEP_MS)

function Received({ at }: { at: string }) {
  const date = new Date(at)
  // Only the text is drawn again when a minute has gone by.
  const text = useComputed(() => receivedText(date, minute.value, language.value))
  return (
    <time class="mail-time" dateTime={at}>
      {text}
    </time>
  )
}

function CodeChip({ code }: { code: string }) {
  return (
    <button
      type="button"
      class="mail-code"
      aria-label={say('inbox_code', { code })}
      title={say('inbox_code', { code })}
      onClick={({ currentTarget }) => void copyCode(code, currentTarget)}
    >
      <span>{code}</span>
      <Glyph name="copy" />
    </button>
  )
}

async function copyCode(code: string, chip: HTMLElement): Promise<void> {
  const outcome = await copyText(code, chip.querySelector('span') ?? undefined)
  tell(say(`inbox_code_${outcome}`, { code }))
}
