import { useState } from 'preact/hooks'
import type { AddressView, Offered } from '../messages.ts'
import { sendRequest } from '../send-request.ts'
import type { Attempt } from '../status.tsx'
import { formatDuration, senderText, t } from '../texts.ts'

interface Props {
  address: AddressView
  tabId: number | undefined
  site: string | undefined
  attempt: Attempt
}

/** An address with what arrived there and what can be done with it. */
export function AddressBlock({ address, tabId, site, attempt }: Props) {
  const { id, email, isPermanent, isUnknown, offer } = address
  const at = email.lastIndexOf('@')
  const isExpired = isUnknown || (!isPermanent && address.expiresAt <= Date.now())
  const act = (type: 'extend' | 'delete' | 'open') =>
    attempt(async () => {
      await sendRequest(type, { id })
      return type === 'delete' ? t('address_deleted', email) : undefined
    })
  return (
    <div class="address" data-email={email}>
      <p class="email">
        <span class="name">
          <bdi>
            {email.slice(0, at)}
            <wbr />
            {email.slice(at)}
          </bdi>
        </span>
        <Button action="copy" label={email} run={() => copy(email, attempt)}>
          {t('site_copy')}
        </Button>
      </p>
      <p class="muted">
        {[address.site === site ? '' : address.site, timeLeft(address, isExpired)]
          .filter(Boolean)
          .join(' – ')}
      </p>
      {isExpired && <p class="error">{t(isUnknown ? 'error_unknown' : 'error_expired')}</p>}
      {offer && !isExpired && (
        <Found
          offer={offer}
          // The page of another site must not get it.
          tabId={address.site === site ? tabId : undefined}
          attempt={attempt}
        />
      )}
      <p class="row">
        {!isPermanent && !isUnknown && (
          <Button action="extend" label={email} kind="quiet" run={() => act('extend')}>
            {t(isExpired ? 'address_restore' : 'address_extend')}
          </Button>
        )}
        {!isExpired && (
          <Button action="open" label={email} kind="quiet" run={() => act('open')}>
            {t('own_address_open')}
          </Button>
        )}
        <Delete email={email} run={() => act('delete')} />
      </p>
    </div>
  )
}

/** Asks first: the mail is deleted, too. The button for it is not where the first click was. */
function Delete({ email, run }: { email: string; run(): unknown }) {
  const [isAsking, setIsAsking] = useState(false)
  return (
    <>
      <Button
        action="delete"
        label={email}
        kind="quiet"
        isExpanded={isAsking}
        run={() => setIsAsking(!isAsking)}
      >
        {t(isAsking ? 'site_cancel' : 'site_delete')}
      </Button>
      {isAsking && (
        <span class="row">
          {t('address_delete_title')}
          <Button action="confirm-delete" label={email} run={run}>
            {t('site_delete')}
          </Button>
        </span>
      )}
    </>
  )
}

interface FoundProps {
  offer: NonNullable<AddressView['offer']>
  tabId: number | undefined
  attempt: Attempt
}

function Found({ offer, tabId, attempt }: FoundProps) {
  const { id, messageId, code, link } = offer
  const offered = { id, messageId }
  const fill = () =>
    attempt(async () => {
      if (tabId === undefined) return undefined
      const isFilled = await sendRequest('fill-code', { tabId, ...offered })
      if (isFilled === undefined) return undefined
      return isFilled ? t('filled', code ?? '') : t('error_no_code_field')
    })
  const open = () =>
    attempt(async () => {
      await sendRequest('open-link', offered)
      return undefined
    })
  return (
    <div class="found">
      {code !== null && (
        <p class="code">
          {t('reader_code')}: <strong>{code}</strong>
        </p>
      )}
      <p class={offer.badge === 'forged' ? 'error' : 'muted'}>
        {senderText(offer.sender, offer.badge)}
      </p>
      <p class="row">
        {code !== null && tabId !== undefined && (
          <Button action="fill-code" label={code} kind="primary" run={fill}>
            {t('fill')}
          </Button>
        )}
        {code !== null && (
          <Button action="copy-code" label={code} run={() => copy(code, attempt, offered)}>
            {t('site_copy')}
          </Button>
        )}
        {link && (
          <Button action="open-link" run={open}>
            {t('open_link', link.host)}
          </Button>
        )}
      </p>
    </div>
  )
}

interface ButtonProps {
  action: string
  /** Which of the addresses, for those who do not see it. */
  label?: string
  kind?: 'primary' | 'quiet'
  isExpanded?: boolean
  run(): unknown
  children: string
}

function Button({ action, label, kind, isExpanded, run, children }: ButtonProps) {
  return (
    <button
      type="button"
      class={kind}
      data-action={action}
      aria-label={label ? `${children}: ${label}` : undefined}
      aria-expanded={isExpanded}
      onClick={() => void run()}
    >
      {children}
    </button>
  )
}

function copy(text: string, attempt: Attempt, used?: Offered): Promise<boolean> {
  return attempt(async () => {
    await navigator.clipboard.writeText(text)
    if (used) await sendRequest('used', used)
    return t('site_copied')
  })
}

function timeLeft(address: AddressView, isExpired: boolean): string {
  const { isPermanent, isUnknown, expiresAt } = address
  if (isUnknown) return ''
  if (isPermanent) return t('address_permanent')
  if (isExpired) return t('address_state_expired')
  return t('address_left', formatDuration(expiresAt - Date.now()))
}
