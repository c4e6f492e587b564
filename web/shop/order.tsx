import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Samples } from '../key/samples.tsx'
import { KeyDisplay } from '../key/secrets.tsx'
import { errorText } from '../site/api-client.ts'
import { Dialog } from '../site/dialog.tsx'
import { t } from '../site/i18n.ts'
import { Layout, mountPage, setTitle } from '../site/layout.tsx'
import { nextStepText, OrderDetails, stateText, stateTone } from './order-details.tsx'
import { type ClaimedKey, isInProgress, type WatchedOrder, watchOrder } from './watch-order.ts'
import './shop.css'

/** The key, this once. */
export function ClaimedKeyView({ minted: { key, order_id: orderId } }: { minted: ClaimedKey }) {
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => container.current?.focus(), [])
  return (
    <div class="minted" ref={container} tabIndex={-1}>
      <p class="notice good">{t('shop_new_key')}</p>
      <KeyDisplay apiKey={key} name={`mayfly-key-${orderId}`} />
      <h2>{t('docs_try')}</h2>
      <Samples apiKey={key} />
      <p class="soft">
        {t('shop_usage')} <a href="/key">{t('site_key')}</a>
      </p>
    </div>
  )
}

/** For who comes without the link: the claim secret can be given by hand. */
export function ClaimSecretForm({ onUnlock }: { onUnlock(secret: string): Promise<void> }) {
  return (
    <form
      class="unlock"
      onSubmit={(event) => {
        event.preventDefault()
        const given = new FormData(event.currentTarget).get('secret')
        void onUnlock(String(given).trim())
      }}
    >
      <p>{t('shop_secret_hint')}</p>
      <div class="field">
        <label for="secret">{t('shop_secret')}</label>
        <input
          id="secret"
          name="secret"
          dir="ltr"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          required
        />
      </div>
      <button type="submit">{t('shop_open_order')}</button>
    </form>
  )
}

function OrderPage({ opened }: { opened: WatchedOrder }) {
  const { order, locked, fault, minted } = opened
  return (
    <Layout section="plans">
      <h1>{t('shop_order')}</h1>
      <section class="panel order">
        <div aria-live="polite">{!minted.value && <State opened={opened} />}</div>
        {minted.value ? <ClaimedKeyView minted={minted.value} /> : <Steps opened={opened} />}
        {locked.value !== 'no' && <ClaimSecretForm onUnlock={opened.unlock} />}
        <p class="fault" role="alert">
          {fault.value === undefined ? '' : errorText(fault.value)}
        </p>
        {order.value && <OrderDetails order={order.value} prefix={minted.value?.prefix} />}
      </section>
      {isReplaceOpen.value && <ReplaceDialog opened={opened} />}
    </Layout>
  )
}

function State({ opened: { order, locked, fault } }: { opened: WatchedOrder }) {
  if (locked.value !== 'no') {
    return <p>{t(locked.value === 'unknown' ? 'shop_no_secret' : 'shop_wrong_secret')}</p>
  }
  const found = order.value
  if (!found) return <p>{fault.value === undefined ? t('shop_loading') : ''}</p>
  return (
    <>
      <p class={`state ${stateTone(found)}`}>{stateText(found)}</p>
      <p>{nextStepText(found)}</p>
      {isInProgress(found) && <p class="soft">{t('shop_updates')}</p>}
    </>
  )
}

/** What the buyer can do now. */
function Steps({ opened }: { opened: WatchedOrder }) {
  const { order, locked, secret } = opened
  const found = order.value
  if (!found || locked.value !== 'no') return null
  const inProgress = isInProgress(found)
  return (
    <>
      <div class="row">
        {found.url !== null && (
          <a class="button" href={found.url}>
            {t('shop_pay')}
          </a>
        )}
        {found.claimable && <ClaimButton opened={opened} isFirst={found.claimed_at === null} />}
        {(found.state === 'failed' || found.state === 'expired') && (
          <a class="button" href="/pricing">
            {t('shop_choose_another')}
          </a>
        )}
      </div>
      {(inProgress || found.claimable) && (
        <p class="soft">
          {t('shop_private_link_hint')} <a href={`#${secret()}`}>{t('shop_private_link')}</a>
        </p>
      )}
    </>
  )
}

/** Claiming again ends the key that was shown before: that is asked first. */
const isReplaceOpen = signal(false)

function ClaimButton({ opened: { minting, mint }, isFirst }: ClaimButtonProps) {
  const ask = () => {
    isReplaceOpen.value = true
  }
  return (
    <button
      type="button"
      class={isFirst ? '' : 'plain'}
      disabled={minting.value}
      onClick={isFirst ? () => void mint() : ask}
    >
      {t(isFirst ? 'shop_show_key' : 'shop_replace')}
    </button>
  )
}

interface ClaimButtonProps {
  opened: WatchedOrder
  isFirst: boolean
}

function ReplaceDialog({ opened: { mint } }: { opened: WatchedOrder }) {
  const close = () => {
    isReplaceOpen.value = false
  }
  return (
    <Dialog title={t('shop_replace_title')} onClose={close}>
      <p>{t('shop_replace_how')}</p>
      <p>
        {t('shop_replace_roll')} <a href="/key">{t('site_key')}</a>
      </p>
      <div class="row">
        <button
          type="button"
          class="danger"
          onClick={() => {
            close()
            void mint()
          }}
        >
          {t('shop_replace')}
        </button>
        <button type="button" class="plain" onClick={close}>
          {t('shop_replace_no')}
        </button>
      </div>
    </Dialog>
  )
}

setTitle('shop_order')
const opened = watchOrder(location.pathname.replace(/^.*\//, ''))
// What is known at once is shown at once; the rest says that it is being looked for.
void opened.look()
await mountPage(() => <OrderPage opened={opened} />)
