import { signal } from '@preact/signals'
import { Button } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import {
  busy,
  copyAddress,
  copyOutcome,
  extend,
  failure,
  failureText,
  newAddress,
  restore,
} from './actions.ts'
import { isCurrentExpired, timeLeftText, unrecoverableToken } from './countdown.ts'
import { CustomAddressDialog } from './custom-address.tsx'
import { isStarting } from './first-address.ts'
import { currentMailbox, storageBlocked } from './mailboxes.ts'
import { AddressText, confirmDelete, openSwitcher, Switcher } from './switcher.tsx'
import { IncomingTransferDialog, startAddress, TransferDialog } from './transfer.tsx'
import './address.css'

// Before the first paint, so that the address is there as soon as the page is.
void startAddress()

const openDialog = signal<'own' | 'phone' | undefined>(undefined)
const show = (dialog: typeof openDialog.value) => {
  openDialog.value = dialog
}

export function AddressBar() {
  const mailbox = currentMailbox.value
  const isLive = mailbox !== undefined && !isCurrentExpired.value
  return (
    <section class="address panel" aria-label={t('address_title')}>
      <div class="address-line row">
        <p id="address" class={`address-text${isCurrentExpired.value ? ' over' : ''}`}>
          {mailbox ? (
            <bdi dir="ltr">
              <AddressText email={mailbox.email} />
            </bdi>
          ) : (
            <AddressPlaceholder />
          )}
        </p>
        <Button
          icon={copyOutcome.value === 'copied' ? 'done' : 'copy'}
          onClick={() => void copyAddress()}
          disabled={!isLive}
        >
          {copyOutcome.value ? t(`site_${copyOutcome.value}`) : t('site_copy')}
        </Button>
      </div>
      <div class="address-actions row">
        <TimeLeft />
        <div class="row">
          <Button
            icon="plus"
            id="new-address"
            class={isLive || isStarting.value ? 'plain' : ''}
            disabled={busy.value || isStarting.value}
            onClick={() => void newAddress()}
          >
            {t('address_new')}
          </Button>
          <Button icon="pen" class="plain" onClick={() => show('own')}>
            {t('address_choose')}
          </Button>
          <Button icon="phone" class="plain" disabled={!isLive} onClick={() => show('phone')}>
            {t('address_qr')}
          </Button>
          <Button
            icon="bin"
            class="plain"
            disabled={!isLive}
            onClick={() => mailbox && confirmDelete(mailbox)}
          >
            {t('address_delete')}
          </Button>
        </div>
      </div>
      <Switcher />
      {failure.value && <FailureNotice {...failure.value} />}
      {storageBlocked.value && <p class="notice">{t('address_storage_blocked')}</p>}
      {openDialog.value === 'own' && <CustomAddressDialog onClose={() => show(undefined)} />}
      {openDialog.value === 'phone' && mailbox && (
        <TransferDialog mailbox={mailbox} onClose={() => show(undefined)} />
      )}
      <IncomingTransferDialog />
    </section>
  )
}

function AddressPlaceholder() {
  if (!isStarting.value) return <span class="soft">{t('address_none')}</span>
  return <span class="soft">{failure.value ? '' : t('address_loading')}</span>
}

function FailureNotice(failed: NonNullable<typeof failure.value>) {
  const isFull = failed.kind === 'list_full'
  return (
    <div class="notice bad row" role="alert">
      <span>{failureText(failed)}</span>
      <Button class="plain" onClick={isFull ? openSwitcher : failed.retry}>
        {t(isFull ? 'address_list' : 'site_try_again')}
      </Button>
    </div>
  )
}

function TimeLeft() {
  const mailbox = currentMailbox.value
  if (!mailbox) return <p class="address-life" />
  if (!isCurrentExpired.value) {
    return (
      <p class="address-life">
        <Icon name="clock" />
        <span>{t('address_left', { time: timeLeftText(mailbox) })}</span>
        <Button class="quiet small" disabled={busy.value} onClick={() => void extend(mailbox)}>
          {t('address_extend')}
        </Button>
      </p>
    )
  }
  const canRestore = unrecoverableToken.value !== mailbox.token
  return (
    <div class="notice address-over" role="alert">
      <p>
        {t('address_expired')} {canRestore && t('address_expired_restore')}
      </p>
      {canRestore && (
        <Button disabled={busy.value} onClick={() => void restore(mailbox)}>
          {t('address_restore')}
        </Button>
      )}
    </div>
  )
}
