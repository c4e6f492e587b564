import { signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { announce } from '../site/announce.ts'
import { errorText } from '../site/api-client.ts'
import { Button, ErrorMessage } from '../site/controls.tsx'
import { Dialog } from '../site/dialog.tsx'
import { t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { deleteMailbox } from './actions.ts'
import { now, timeLeftText } from './countdown.ts'
import { isExpired, type Mailbox } from './mailbox.ts'
import { currentMailbox, mailboxes, selectMailbox } from './mailboxes.ts'

const LIST_ID = 'other-addresses'

/** Opens and focuses the list. */
export function openSwitcher(): void {
  const list = document.getElementById(LIST_ID)
  list?.setAttribute('open', '')
  list?.querySelector('summary')?.focus()
}

/** The other addresses of this browser. */
export function Switcher({ unread }: { unread: ReadonlyMap<string, number> }) {
  const others = mailboxes.value.filter(({ email }) => email !== currentMailbox.value?.email)
  const summary = useRef<HTMLElement>(null)
  const show = (mailbox: Mailbox) => {
    // The clicked row leaves the list, and would take the focus along.
    summary.current?.focus()
    selectMailbox(mailbox)
    announce(t('address_shown', { email: mailbox.email }))
  }
  return (
    <>
      {others.length > 0 && (
        <details id={LIST_ID} class="switcher">
          <summary ref={summary}>
            <Icon name="down" />
            {t('address_more', { count: others.length })}
            <Unread count={others.reduce((sum, { email }) => sum + (unread.get(email) ?? 0), 0)} />
          </summary>
          <ul>
            {others.map((mailbox) => (
              <SwitcherRow
                key={mailbox.email}
                mailbox={mailbox}
                unread={unread.get(mailbox.email) ?? 0}
                onShow={() => show(mailbox)}
              />
            ))}
          </ul>
        </details>
      )}
      <DeleteDialog />
    </>
  )
}

function Unread({ count }: { count: number }) {
  return count > 0 ? <span class="badge good">{t('inbox_unread', { count })}</span> : null
}

interface SwitcherRowProps {
  mailbox: Mailbox
  unread: number
  onShow(): void
}

function SwitcherRow({ mailbox, unread, onShow }: SwitcherRowProps) {
  const { email } = mailbox
  return (
    <li>
      <Button class="quiet switcher-choice" title={t('address_show', { email })} onClick={onShow}>
        <span class="switcher-email">
          <bdi>
            <AddressText email={email} />
          </bdi>
        </span>
        <Unread count={unread} />
        <span class="soft">
          {isExpired(mailbox, now.value) ? t('address_state_expired') : timeLeftText(mailbox)}
        </span>
      </Button>
      <Button
        icon="bin"
        class="quiet icon"
        aria-label={t('address_delete_label', { email })}
        onClick={() => confirmDelete(mailbox)}
      />
    </li>
  )
}

const mailboxToDelete = signal<Mailbox | undefined>(undefined)
const deleteError = signal('')

export function confirmDelete(mailbox: Mailbox): void {
  deleteError.value = ''
  mailboxToDelete.value = mailbox
}

/** Asks first, because the mail is deleted too. */
function DeleteDialog() {
  const mailbox = mailboxToDelete.value
  if (!mailbox) return null
  const close = () => {
    mailboxToDelete.value = undefined
  }
  const confirm = async () => {
    try {
      await deleteMailbox(mailbox)
      close()
      // The row that opened the dialog is gone. Only after the dialog is closed can anything else take the focus.
      setTimeout(() => document.getElementById('new-address')?.focus())
    } catch (error) {
      deleteError.value = errorText(error)
    }
  }
  return (
    <Dialog title={t('address_delete_title')} onClose={close}>
      <p>{t('address_delete_how', { email: mailbox.email })}</p>
      <ErrorMessage error={deleteError.value} />
      <div class="row">
        <Button class="danger" onClick={() => void confirm()}>
          {t('site_delete')}
        </Button>
        <Button class="plain" onClick={close}>
          {t('site_cancel')}
        </Button>
      </div>
    </Dialog>
  )
}

/** A long address breaks before the @. */
export function AddressText({ email }: { email: string }) {
  const at = email.lastIndexOf('@')
  return (
    <>
      {email.slice(0, at)}
      <wbr />
      {email.slice(at)}
    </>
  )
}
