import { signal } from '@preact/signals'
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
      <div class="address-line">
        <p id="address" class={`address-text${isCurrentExpired.value ? ' over' : ''}`}>
          {mailbox ? (
            <bdi dir="ltr">
              <AddressText email={mailbox.email} />
            </bdi>
          ) : (
            <AddressPlaceholder />
          )}
        </p>
        <button type="button" onClick={() => void copyAddress()} disabled={!isLive}>
          <Icon name={copyOutcome.value === 'copied' ? 'done' : 'copy'} />
          {copyOutcome.value ? t(`site_${copyOutcome.value}`) : t('site_copy')}
        </button>
      </div>
      <div class="address-actions">
        <TimeLeft />
        <div class="row">
          <button
            id="new-address"
            type="button"
            class={isLive || isStarting.value ? 'plain' : ''}
            disabled={busy.value || isStarting.value}
            onClick={() => void newAddress()}
          >
            <Icon name="plus" />
            {t('address_new')}
          </button>
          <button type="button" class="plain" onClick={() => show('own')}>
            <Icon name="pen" />
            {t('address_choose')}
          </button>
          <button type="button" class="plain" disabled={!isLive} onClick={() => show('phone')}>
            <Icon name="phone" />
            {t('address_qr')}
          </button>
          <button
            type="button"
            class="plain"
            disabled={!isLive}
            onClick={() => mailbox && confirmDelete(mailbox)}
          >
            <Icon name="bin" />
            {t('address_delete')}
          </button>
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
  return (
    <div class="notice bad row" role="alert">
      <span>{failureText(failed)}</span>
      {failed.kind === 'list_full' ? (
        <button type="button" class="plain" onClick={openSwitcher}>
          {t('address_list')}
        </button>
      ) : (
        <button type="button" class="plain" onClick={failed.retry}>
          {t('site_try_again')}
        </button>
      )}
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
        <button
          type="button"
          class="quiet small"
          disabled={busy.value}
          onClick={() => void extend(mailbox)}
        >
          {t('address_extend')}
        </button>
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
        <button type="button" disabled={busy.value} onClick={() => void restore(mailbox)}>
          {t('address_restore')}
        </button>
      )}
    </div>
  )
}
