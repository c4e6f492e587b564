import { signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { announce } from '../site/announce.ts'
import { errorText } from '../site/api-client.ts'
import { Dialog } from '../site/dialog.tsx'
import { t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { deleteMailbox } from './actions.ts'
import { now, timeLeftText } from './countdown.ts'
import { isExpired, type Mailbox } from './mailbox.ts'
import { currentMailbox, mailboxes, selectMailbox } from './mailboxes.ts'

const LIST_ID = 'other-addresses'

/** Opens the list of the other addresses, and goes there. */
export function openSwitcher(): void {
  const list = document.getElementById(LIST_ID)
  list?.setAttribute('open', '')
  list?.querySelector('summary')?.focus()
}

/** The other addresses of this browser. */
export function Switcher() {
  const others = mailboxes.value.filter(({ email }) => email !== currentMailbox.value?.email)
  const summary = useRef<HTMLElement>(null)
  const show = (mailbox: Mailbox) => {
    // What was clicked is not in the list any more: who goes by keyboard goes on from its head.
    summary.current?.focus()
    selectMailbox(mailbox)
    announce(t('address_told_shown', { email: mailbox.email }))
  }
  return (
    <>
      {others.length > 0 && (
        <details id={LIST_ID} class="switcher">
          <summary ref={summary}>
            <Icon name="down" />
            {t('address_earlier', { count: others.length })}
          </summary>
          <ul>
            {others.map((mailbox) => (
              <SwitcherRow key={mailbox.email} mailbox={mailbox} onShow={() => show(mailbox)} />
            ))}
          </ul>
        </details>
      )}
      <DeleteDialog />
    </>
  )
}

function SwitcherRow({ mailbox, onShow }: { mailbox: Mailbox; onShow(): void }) {
  const { email } = mailbox
  const over = isExpired(mailbox, now.value)
  return (
    <li>
      <button
        type="button"
        class="quiet switcher-choice"
        title={t('address_show', { email })}
        onClick={onShow}
      >
        <span class="switcher-email">
          <bdi>
            <AddressText email={email} />
          </bdi>
        </span>
        <span class="soft">{over ? t('address_ended') : timeLeftText(mailbox)}</span>
      </button>
      <button
        type="button"
        class="quiet icon"
        aria-label={t('address_remove', { email })}
        onClick={() => confirmDelete(mailbox)}
      >
        <Icon name="bin" />
      </button>
    </li>
  )
}

/** Which one is about to be ended: asked first, because its mail goes with it. */
const mailboxToDelete = signal<Mailbox | undefined>(undefined)
const deleteError = signal('')

export function confirmDelete(mailbox: Mailbox): void {
  deleteError.value = ''
  mailboxToDelete.value = mailbox
}

/** Asks whether an address is to end now. */
export function DeleteDialog() {
  const mailbox = mailboxToDelete.value
  if (!mailbox) return null
  const close = () => {
    mailboxToDelete.value = undefined
  }
  const end = async () => {
    try {
      await deleteMailbox(mailbox)
      close()
      // What asked for it is gone with it. Not before the dialog is: until then nothing else takes the focus.
      setTimeout(() => document.getElementById('new-address')?.focus())
    } catch (found) {
      deleteError.value = errorText(found)
    }
  }
  return (
    <Dialog title={t('address_remove_title')} onClose={close}>
      <p>{t('address_remove_how', { email: mailbox.email })}</p>
      <p class="fault" role="alert">
        {deleteError.value}
      </p>
      <div class="row">
        <button type="button" class="danger" onClick={() => void end()}>
          {t('address_remove_yes')}
        </button>
        <button type="button" class="plain" onClick={close}>
          {t('address_remove_no')}
        </button>
      </div>
    </Dialog>
  )
}

/** An address: a long one breaks before the @, where it is read most easily. */
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
