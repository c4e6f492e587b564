import type { Mailbox } from '../address/mailbox.ts'
import { currentMailbox } from '../address/mailboxes.ts'
import type { MessageSummary } from '../site/api.ts'
import { t } from '../site/i18n.ts'
import { rowId } from './actions.ts'
import { allMessages, readIdsOf } from './messages.ts'
import { senderName } from './notifications.ts'
import { openedMessage, openMessageOf } from './open-message.ts'
import { Received } from './row.tsx'
import './all-addresses.css'

// As many as anyone looks through; the rest is with its address.
const MAX_SHOWN = 200

/** The messages of all addresses, newest first. A click shows the address and opens the message. */
export function AllAddresses() {
  const rows = allMessages.value.slice(0, MAX_SHOWN)
  if (rows.length === 0) return <p class="list-none">{t('inbox_all_empty')}</p>
  return (
    <ul class="mails any-mails">
      {rows.map(({ mailbox, message }) => (
        <AnyRow key={`${mailbox.email} ${message.id}`} mailbox={mailbox} message={message} />
      ))}
    </ul>
  )
}

function AnyRow({ mailbox, message }: { mailbox: Mailbox; message: MessageSummary }) {
  const { id } = message
  const isHere = mailbox.email === currentMailbox.value?.email
  const isOpen = isHere && openedMessage.value?.id === id
  const isUnread = !readIdsOf(mailbox.email).includes(id)
  return (
    <li class={`mail any${isUnread ? ' unread' : ''}${isOpen ? ' open' : ''}`}>
      <button
        type="button"
        {...(isHere && { id: rowId(id) })}
        class="mail-open"
        aria-current={isOpen}
        onClick={() => openMessageOf(mailbox, id)}
      >
        {isUnread && <span class="unseen">{t('inbox_unread_label')}</span>}
        <span class="mail-from">
          <bdi>{senderName(message)}</bdi>
        </span>
        <span class="mail-end">
          {message.code && <span class="any-code">{message.code}</span>}
          <Received at={message.received_at_iso} />
        </span>
        <span class="any-line">
          <span class="mail-subject">
            <bdi>{message.subject || t('reader_no_subject')}</bdi>
          </span>
          <bdi class="any-address">{mailbox.label ?? mailbox.email}</bdi>
        </span>
      </button>
    </li>
  )
}
