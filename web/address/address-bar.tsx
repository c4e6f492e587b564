import { signal } from '@preact/signals'
import { announce } from '../site/announce.ts'
import { Button } from '../site/controls.tsx'
import { outcomeText } from '../site/copy-button.tsx'
import { listSeparator, t } from '../site/i18n.ts'
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
  labelAddress,
  newAddress,
  restore,
} from './actions.ts'
import { canRestore, isCurrentExpired, isEndingSoon, timeLeftText } from './countdown.ts'
import { isStarting } from './first-address.ts'
import { isPermanent, type Mailbox } from './mailbox.ts'
import { currentMailbox, mailboxes, rulesByAddress, storageBlocked } from './mailboxes.ts'
import { AddressText, confirmDelete, openSwitcher, Switcher } from './switcher.tsx'
import { IncomingTransferDialog, startAddress, TransferDialog } from './transfer.tsx'
import './address.css'
import './settings-line.css'

// Before the first paint, so that the address is there as soon as the page is.
void startAddress()

const openDialog = signal<'own' | 'settings' | 'phone' | undefined>(undefined)
const show = (dialog: typeof openDialog.value) => {
  openDialog.value = dialog
}

type Forms = typeof import('./custom-address.tsx') & typeof import('./settings-dialog.tsx')
/** Loaded when one of them is opened first. */
const forms = signal<Forms | undefined>(undefined)

async function showForm(dialog: 'own' | 'settings'): Promise<void> {
  try {
    forms.value ??= {
      ...(await import('./custom-address.tsx')),
      ...(await import('./settings-dialog.tsx')),
    }
    show(dialog)
  } catch {
    // Offline, or a newer build has replaced the files.
    announce(t('site_unreachable'))
  }
}

// A phone on its side. The style sheet has the same condition.
const isLow = matchesMedia('(min-width: 40.01rem) and (max-height: 30rem)')

interface AddressBarProps {
  /** One line: a message is open and needs the room. */
  isCompact: boolean
  /** Unread messages by address. */
  unread: ReadonlyMap<string, number>
  /** Sender of the first message, by whom the address may be labelled. */
  firstSender: string | undefined
}

export function AddressBar({ isCompact, unread, firstSender }: AddressBarProps) {
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
        {isLive && <SettingsLine mailbox={mailbox} />}
        <Button
          icon={copyOutcome.value === 'copied' ? 'done' : 'copy'}
          onClick={() => void copyAddress()}
          disabled={!isLive}
        >
          {copyOutcome.value ? outcomeText(copyOutcome.value) : t('site_copy')}
        </Button>
      </div>
      <div class="address-actions row">
        <TimeLeft proposal={mailboxes.value.length > 1 ? firstSender : undefined} />
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
          <Button icon="pen" class="plain address-choose" onClick={() => void showForm('own')}>
            {t('address_choose')}
          </Button>
          <Popover
            icon="more"
            label={t('site_more')}
            class="plain icon address-more"
            panelClass="address-rest"
          >
            <Button
              icon="pen"
              class="quiet address-choose-too"
              onClick={() => void showForm('own')}
            >
              {t('address_choose')}
            </Button>
            <Button
              icon="gear"
              class="quiet address-edit"
              aria-label={t('address_settings')}
              title={t('address_settings')}
              disabled={!isLive}
              onClick={() => void showForm('settings')}
            >
              <span>{t('address_settings')}</span>
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
      <Dialogs proposal={firstSender} />
      <IncomingTransferDialog />
    </section>
  )
}

/** `proposal`: a label. */
function Dialogs({ proposal }: { proposal: string | undefined }) {
  const mailbox = currentMailbox.value
  const { CustomAddressDialog, SettingsDialog } = forms.value ?? {}
  const onClose = () => show(undefined)
  if (openDialog.value === 'own' && CustomAddressDialog)
    return <CustomAddressDialog onClose={onClose} />
  if (!mailbox) return null
  if (openDialog.value === 'settings' && SettingsDialog)
    return <SettingsDialog mailbox={mailbox} proposal={proposal} onClose={onClose} />
  return openDialog.value === 'phone' ? (
    <TransferDialog mailbox={mailbox} onClose={onClose} />
  ) : null
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

/** The label and the rules, if there are any, with how many mails they refused. */
function SettingsLine({ mailbox }: { mailbox: Mailbox }) {
  const { label } = mailbox
  const rules = rulesByAddress.value.get(mailbox.email)
  if (!label && !rules) return null
  const { only_from: senders = [], max_messages: limit, refused = 0 } = rules ?? {}
  const texts = [
    ...(senders.length > 0
      ? [t('address_only_from', { senders: senders.join(listSeparator()) })]
      : []),
    ...(limit ? [t('address_limit', { count: limit })] : []),
  ]
  return (
    <p class="address-settings">
      {label && <bdi class="address-label">{label}</bdi>}
      {texts.length > 0 && <span>{texts.join(' · ')}</span>}
      {refused > 0 && <span class="badge warn">{t('address_refused', { count: refused })}</span>}
      <Button class="quiet small" onClick={() => void showForm('settings')}>
        {t('address_settings_edit')}
      </Button>
    </p>
  )
}

/** `proposal`: a label. */
function TimeLeft({ proposal }: { proposal: string | undefined }) {
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
        {proposal && !mailbox.label && (
          <Button
            icon="plus"
            class="quiet small address-proposal"
            disabled={busy.value}
            onClick={() => void labelAddress(mailbox, proposal)}
          >
            {t('address_label_add', { label: proposal })}
          </Button>
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
