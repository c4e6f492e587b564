import { signal } from '@preact/signals'
import { Button } from '../site/controls.tsx'
import { outcomeText } from '../site/copy-button.tsx'
import { t } from '../site/i18n.ts'
import { Icon } from '../site/icon.tsx'
import { matchesMedia } from '../site/media.ts'
import { Popover } from '../site/popover.tsx'
import {
  busy,
  copyAddress,
  copyOutcome,
  dismissFailure,
  extend,
  failure,
  failureText,
  newAddress,
  restore,
} from './actions.ts'
import { canRestore, isCurrentExpired, isEndingSoon, timeLeftText } from './countdown.ts'
import { CustomAddressDialog } from './custom-address.tsx'
import { isStarting } from './first-address.ts'
import { isPermanent } from './mailbox.ts'
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

// A phone on its side. The style sheet has the same condition.
const isLow = matchesMedia('(min-width: 40.01rem) and (max-height: 30rem)')

interface AddressBarProps {
  /** One line: a message is open and needs the room. */
  isCompact: boolean
  /** Unread messages by address. */
  unread: ReadonlyMap<string, number>
}

export function AddressBar({ isCompact, unread }: AddressBarProps) {
  const mailbox = currentMailbox.value
  const isLive = mailbox !== undefined && !isCurrentExpired.value
  // What an expired address says needs more room.
  const isOneLine = (isCompact || isLow.value) && !isCurrentExpired.value
  return (
    <section class={`address panel${isOneLine ? ' compact' : ''}`} aria-label={t('address_title')}>
      <div class="address-line row">
        <p
          id="address"
          class={`address-text${isCurrentExpired.value ? ' over' : ''}`}
          title={mailbox?.email}
        >
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
          {copyOutcome.value ? outcomeText(copyOutcome.value) : t('site_copy')}
        </Button>
      </div>
      <div class="address-actions row">
        <TimeLeft />
        <div class="address-buttons row">
          <Button
            icon="plus"
            id="new-address"
            class={isLive || isStarting.value ? 'plain' : ''}
            disabled={busy.value || isStarting.value}
            onClick={() => void newAddress()}
          >
            {t('address_new')}
          </Button>
          <Button icon="pen" class="plain address-choose" onClick={() => show('own')}>
            {t('address_choose')}
          </Button>
          <Popover
            icon="more"
            label={t('site_more')}
            class="plain icon address-more"
            panelClass="address-rest"
          >
            <Button icon="pen" class="quiet address-choose-too" onClick={() => show('own')}>
              {t('address_choose')}
            </Button>
            <Button icon="phone" class="quiet" disabled={!isLive} onClick={() => show('phone')}>
              {t('address_qr')}
            </Button>
            <Button
              icon="bin"
              class="quiet address-delete"
              disabled={!isLive}
              onClick={() => confirmDelete(mailbox)}
            >
              {t('address_delete')}
            </Button>
          </Popover>
        </div>
      </div>
      <Switcher unread={unread} />
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
      <span class="row">
        <Button class="plain" onClick={isFull ? openSwitcher : failed.retry}>
          {t(isFull ? 'address_list' : 'site_try_again')}
        </Button>
        {/* The first address is retried until there is one. */}
        {!failed.automatic && (
          <Button
            icon="close"
            class="quiet icon"
            aria-label={t('site_dismiss')}
            onClick={dismissFailure}
          />
        )}
      </span>
    </div>
  )
}

function TimeLeft() {
  const mailbox = currentMailbox.value
  if (!mailbox) return <p class="address-life" />
  if (!isCurrentExpired.value) {
    return (
      <p class={`address-life${isEndingSoon(mailbox) ? ' soon' : ''}`}>
        <Icon name="clock" />
        {isPermanent(mailbox) ? (
          <span>{timeLeftText(mailbox)}</span>
        ) : (
          <>
            <span>{t('address_left', { time: timeLeftText(mailbox) })}</span>
            <Button class="quiet small" disabled={busy.value} onClick={() => void extend(mailbox)}>
              {t('address_extend')}
            </Button>
          </>
        )}
      </p>
    )
  }
  return (
    <div class="notice address-over" role="alert">
      <p>
        {canRestore.value
          ? `${t('address_expired')} ${t('address_expired_restore')}`
          : t('address_gone')}
      </p>
      {canRestore.value && (
        <Button disabled={busy.value} onClick={() => void restore(mailbox)}>
          {t('address_restore')}
        </Button>
      )}
    </div>
  )
}
