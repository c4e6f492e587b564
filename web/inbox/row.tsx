import { signal, useComputed } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { displaySender } from '../../src/shared/sender-display.ts'
import { announce } from '../site/announce.ts'
import { copyText } from '../site/copy-button.tsx'
import { formatReceived } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { leavePath } from '../site/link-target.ts'
import { deleteRow, openAndFocus, rowId, setCursor } from './actions.ts'
import { highlighted } from './message-list.ts'
import type { ActionLink } from './messages.ts'
import { markCopied } from './newest.ts'
import { openMessageOf } from './open-message.ts'
import { type Row, setSelected } from './rows.ts'

interface RowProps extends Pick<Row, 'mailbox' | 'message'> {
  rowKey: string
  /** Shown instead of the preview. */
  address: string | undefined
  isUnread: boolean
  isSelected: boolean
  isOpen: boolean
  /** Shown if the message has no code. */
  link: ActionLink | undefined
  /** Words to highlight. */
  query: string
}

export function MessageRow(props: RowProps) {
  const {
    rowKey: key,
    mailbox,
    message,
    address,
    isUnread,
    isSelected,
    isOpen,
    link,
    query,
  } = props
  const { id, code } = message
  const files = message.attachments ?? 0
  const { title: sender } = displaySender(message.sender_name, message.sender_email)
  const subject = message.subject || t('reader_no_subject')
  const linkText = !code && link ? t(`inbox_link_${link.kind}`) : ''
  const chipLength = code?.length ?? linkText.length
  return (
    <li
      class={`mail${isUnread ? ' unread' : ''}${isOpen ? ' open' : ''}`}
      style={chipLength > 0 ? { '--chip-length': chipLength } : undefined}
    >
      <label class="mail-tick">
        <input
          type="checkbox"
          checked={isSelected}
          aria-label={t('inbox_select', { subject })}
          onChange={({ currentTarget }) => setSelected(key, currentTarget.checked)}
        />
      </label>
      <button
        type="button"
        class="mail-open"
        id={rowId(key)}
        aria-current={isOpen || undefined}
        // Without a pointer there is no count of clicks.
        onClick={({ detail }) => (detail === 0 ? openAndFocus : openMessageOf)(mailbox, id)}
        onFocus={() => setCursor(key)}
      >
        {isUnread && <span class="unseen">{t('inbox_unread_label')}</span>}
        <span class="mail-from">
          <bdi>{sender ? <Highlighted text={sender} query={query} /> : t('reader_no_sender')}</bdi>
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
        <span class="mail-line">
          <span class="mail-subject">
            <bdi>
              <Highlighted text={subject} query={query} />
            </bdi>
          </span>
          <Preview message={message} address={address} query={query} />
        </span>
      </button>
      {code && <CodeChip code={code} id={id} />}
      {linkText !== '' && link && <LinkChip link={link} text={linkText} />}
      <button
        type="button"
        class="mail-delete quiet icon"
        // Keyboard users have # and the checkboxes: three tab stops per message are too many.
        tabIndex={-1}
        aria-label={t('inbox_delete_row', { subject })}
        title={t('site_delete')}
        onClick={() => deleteRow(key)}
      >
        <Icon name="bin" />
      </button>
    </li>
  )
}

function Preview({ message, address, query }: Pick<RowProps, 'message' | 'address' | 'query'>) {
  if (address !== undefined)
    return (
      <span class="mail-address">
        <bdi>{address}</bdi>
      </span>
    )
  return (
    <span class="mail-preview">
      <bdi>
        <Highlighted text={message.preview ?? ''} query={query} />
      </bdi>
    </span>
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

function Highlighted({ text, query }: { text: string; query: string }) {
  if (query === '') return <>{text}</>
  return highlighted(text, query).map((piece, index) =>
    index % 2 === 1 ? <mark key={index}>{piece}</mark> : piece,
  )
}

/** Leads to the page that shows the target first. */
function LinkChip({ link: { kind, url, host }, text }: { link: ActionLink; text: string }) {
  return (
    <a
      class="mail-code mail-link"
      href={leavePath(url)}
      target="_blank"
      rel="noopener noreferrer"
      aria-label={`${text}: ${t(`reader_link_${kind}`)}, ${host}`}
      title={`${t('reader_link_goes_to')} ${host}`}
    >
      <span>{text}</span>
      <Icon name="out" />
    </a>
  )
}

function CodeChip({ code, id }: { code: string; id: number }) {
  const shown = useRef<HTMLElement>(null)
  const copy = async () => {
    const outcome = await copyText(code, shown.current ?? undefined)
    markCopied(id)
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
