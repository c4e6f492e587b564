import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Samples } from '../key/samples.tsx'
import { KeyDisplay } from '../key/secrets.tsx'
import type { ClaimedKey } from '../site/api.ts'
import { Button, ErrorMessage, Field, Form, VERBATIM } from '../site/controls.tsx'
import { ConfirmDialog } from '../site/dialog.tsx'
import { knownText, t } from '../site/i18n.ts'
import { Layout, mountPage, setTitle } from '../site/layout.tsx'
import { nextStepText, OrderDetails, stateTone } from './order-details.tsx'
import { isInProgress, type WatchedOrder, watchOrder } from './watch-order.ts'
import './shop.css'

export function ClaimedKeyView({ claimed: { key, order_id: orderId } }: { claimed: ClaimedKey }) {
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => container.current?.focus(), [])
  return (
    <div class="stack" ref={container} tabIndex={-1}>
      <p class="notice good">{t('shop_new_key')}</p>
      <KeyDisplay apiKey={key} name={`mayfly-key-${orderId}`} />
      <h2>{t('docs_try')}</h2>
      <Samples apiKey={key} />
      <p class="soft">
        {t('shop_usage')} <a href="/key">{t('site_key')}</a>
        <br />
        {t('key_storage_hint')}
      </p>
    </div>
  )
}

/** For buyers who come without the private link. */
export function ClaimSecretForm({ onUnlock }: { onUnlock(secret: string): Promise<void> }) {
  return (
    <Form
      class="unlock"
      noValidate={false}
      onSubmit={(form) => void onUnlock(String(new FormData(form).get('secret')).trim())}
    >
      <p>{t('shop_secret_hint')}</p>
      <Field id="secret" label={t('shop_secret')}>
        <input id="secret" name="secret" {...VERBATIM} required />
      </Field>
      <button type="submit">{t('shop_open_order')}</button>
    </Form>
  )
}

function OrderPage({ watched }: { watched: WatchedOrder }) {
  const { order, locked, error, claimed } = watched
  return (
    <Layout section="plans">
      <h1>{t('shop_order')}</h1>
      <section class="panel stack order">
        <div aria-live="polite">{!claimed.value && <State watched={watched} />}</div>
        {claimed.value ? <ClaimedKeyView claimed={claimed.value} /> : <Steps watched={watched} />}
        {locked.value !== 'no' && <ClaimSecretForm onUnlock={watched.unlock} />}
        <ErrorMessage error={error.value} />
        {order.value && <OrderDetails order={order.value} prefix={claimed.value?.prefix} />}
      </section>
      {isReplaceOpen.value && <ReplaceDialog watched={watched} />}
    </Layout>
  )
}

function State({ watched: { order, locked, error } }: { watched: WatchedOrder }) {
  if (locked.value !== 'no') {
    return <p>{t(locked.value === 'unknown' ? 'shop_no_secret' : 'shop_wrong_secret')}</p>
  }
  const found = order.value
  if (!found) return <p>{error.value === undefined ? t('shop_loading') : ''}</p>
  return (
    <>
      <p class={`state ${stateTone(found)}`}>{knownText('shop_state_', found.state)}</p>
      <p>{nextStepText(found)}</p>
      {isInProgress(found) && <p class="soft">{t('shop_updates')}</p>}
    </>
  )
}

function Steps({ watched }: { watched: WatchedOrder }) {
  const { order, locked, secret } = watched
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
        {found.claimable && <ClaimButton watched={watched} />}
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

/** Claiming again revokes the key that was shown before, so it asks for confirmation. */
const isReplaceOpen = signal(false)

function ClaimButton({ watched: { order, claiming, claim } }: { watched: WatchedOrder }) {
  const isFirst = order.value?.claimed_at === null
  const confirm = () => {
    isReplaceOpen.value = true
  }
  return (
    <Button
      class={isFirst ? '' : 'plain'}
      disabled={claiming.value}
      onClick={isFirst ? () => void claim() : confirm}
    >
      {t(isFirst ? 'shop_show_key' : 'shop_replace')}
    </Button>
  )
}

function ReplaceDialog({ watched: { claim } }: { watched: WatchedOrder }) {
  const close = () => {
    isReplaceOpen.value = false
  }
  return (
    <ConfirmDialog
      title={t('shop_replace_title')}
      action={t('shop_replace')}
      class="danger"
      cancel={t('shop_replace_no')}
      onConfirm={() => {
        close()
        void claim()
      }}
      onClose={close}
    >
      <p>{t('shop_replace_how')}</p>
      <p>
        {t('shop_replace_roll')} <a href="/key">{t('site_key')}</a>
      </p>
    </ConfirmDialog>
  )
}

setTitle('shop_order')
const watched = watchOrder(location.pathname.replace(/^.*\//, ''))
void watched.poll()
await mountPage(() => <OrderPage watched={watched} />)
