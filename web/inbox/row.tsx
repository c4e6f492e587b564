import { signal, useComputed } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { displaySender } from '../../src/shared/sender-display.ts'
import { announce } from '../site/announce.ts'
import type { MessageSummary } from '../site/api.ts'
import { copyText } from '../site/copy-button.tsx'
import { formatReceived } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { deleteRow, openAndFocus, rowId, setCursor } from './actions.ts'
import { setSelected } from './messages.ts'
import { openMessage } from './open-message.ts'

interface RowProps {
  message: MessageSummary
  isUnread: boolean
  isSelected: boolean
  isOpen: boolean
}

export function MessageRow({ message, isUnread, isSelected, isOpen }: RowProps) {
  const { id, code } = message
  const files = message.attachments ?? 0
  const { title: sender } = displaySender(message.sender_name, message.sender_email)
  const subject = message.subject || t('reader_no_subject')
  return (
    <li
      class={`mail${isUnread ? ' unread' : ''}${isOpen ? ' open' : ''}`}
      style={code ? { '--code-length': code.length } : undefined}
    >
      <label class="mail-tick">
        <input
          type="checkbox"
          checked={isSelected}
          aria-label={t('inbox_select', { subject })}
          onChange={({ currentTarget }) => setSelected(id, currentTarget.checked)}
        />
      </label>
      <button
        type="button"
        class="mail-open"
        id={rowId(id)}
        aria-current={isOpen || undefined}
        // Without a pointer there is no count of clicks.
        onClick={({ detail }) => (detail === 0 ? openAndFocus(id) : openMessage(id))}
        onFocus={() => setCursor(id)}
      >
        {isUnread && <span class="unseen">{t('inbox_unread_label')}</span>}
        <span class="mail-from">
          <bdi>{sender || t('reader_no_sender')}</bdi>
        </span>
        <span class="mail-end">
          {files > 0 && (
            <span class="mail-files">
              <Icon name="clip" />
              <span class="unseen">{t('reader_attachments', { count: files })}</span>
            </span>
          )}
          <Received at={message.received_at_iso} />
        </span>
        <span class="mail-subject">
          <bdi>{subject}</bdi>
        </span>
        <span class="mail-preview">
          <bdi>{message.preview}</bdi>
        </span>
      </button>
      {code && <CodeChip code={code} />}
      <button
        type="button"
        class="mail-delete quiet icon"
        // Keyboard users have # and the checkboxes: three tab stops per message are too many.
        tabIndex={-1}
        aria-label={t('inbox_delete_row', { subject })}
        title={t('site_delete')}
        onClick={() => deleteRow(id)}
      >
        <Icon name="bin" />
      </button>
    </li>
  )
}

const now = signal(new Date())

const STEP_MS = 20_000

setInterval(() => {
  now.value = new Date()
}, STEP_MS)

function Received({ at }: { at: string }) {
  const date = new Date(at)
  // Only the text is rendered again when the time changes.
  const text = useComputed(() => formatReceived(date, now.value, language.value))
  return (
    <time class="mail-time" dateTime={at}>
      {text}
    </time>
  )
}

function CodeChip({ code }: { code: string }) {
  const shown = useRef<HTMLElement>(null)
  const copy = async () => {
    const outcome = await copyText(code, shown.current ?? undefined)
    announce(t(`inbox_code_${outcome}`, { code }))
  }
  return (
    <button
      type="button"
      class="mail-code"
      aria-label={t('inbox_code', { code })}
      title={t('inbox_code', { code })}
      onClick={() => void copy()}
    >
      <span ref={shown}>{code}</span>
      <Icon name="copy" />
    </button>
  )
}
