import { signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { useAction } from '../site/action.tsx'
import { announce } from '../site/announce.ts'
import { Button } from '../site/controls.tsx'
import { ConfirmDialog } from '../site/dialog.tsx'
import { formatDuration } from '../site/format.ts'
import { language, t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { siteConfig } from '../site/site-config.ts'
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
      {mailboxToDelete.value && <DeleteDialog mailbox={mailboxToDelete.value} />}
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
        {mailbox.label && <bdi class="address-label">{mailbox.label}</bdi>}
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

export function confirmDelete(mailbox: Mailbox | undefined): void {
  mailboxToDelete.value = mailbox
}

/** Asks first, because the mail is deleted too. */
function DeleteDialog({ mailbox }: { mailbox: Mailbox }) {
  const { error, run } = useAction()
  const isDeleted = useRef(false)
  const confirm = async () => {
    await deleteMailbox(mailbox)
    isDeleted.current = true
    confirmDelete(undefined)
    return ''
  }
  return (
    <ConfirmDialog
      title={t('address_delete_title')}
      action={t('site_delete')}
      class="danger"
      error={error}
      onConfirm={() => void run(confirm)}
      onClose={() => confirmDelete(undefined)}
      // The row that opened the dialog is gone, or its button now deletes the next address.
      focusAfter={() => (isDeleted.current ? document.getElementById('new-address') : null)}
    >
      <p>{t('address_delete_how', { email: mailbox.email })}</p>
      {siteConfig.cooldown > 0 && (
        <p>
          {t('address_delete_reserved', {
            time: formatDuration(siteConfig.cooldown * 1000, language.value, 'long'),
          })}
        </p>
      )}
    </ConfirmDialog>
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
