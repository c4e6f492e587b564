import { signal } from '@preact/signals'
import { Dialog } from '../site/dialog.tsx'
import { faultWords } from '../site/fault-words.ts'
import { Frame } from '../site/frame.tsx'
import { openPage } from '../site/open-page.tsx'
import { entitle } from '../site/title.ts'
import { say } from '../site/words.ts'
import { Minted } from './minted.tsx'
import { isUnderWay, type OpenOrder, openOrder } from './open-order.ts'
import { OrderFacts } from './order-facts.tsx'
import { nextWords, stateWords, toneOf } from './order-words.ts'
import { Unlock } from './unlock.tsx'
import './shop.css'

function OrderPage({ opened }: { opened: OpenOrder }) {
  const { order, locked, fault, minted } = opened
  return (
    <Frame at="plans">
      <h1>{say('shop_order')}</h1>
      <section class="panel order">
        <div aria-live="polite">{!minted.value && <State opened={opened} />}</div>
        {minted.value ? <Minted minted={minted.value} /> : <Steps opened={opened} />}
        {locked.value !== 'no' && <Unlock onUnlock={opened.unlock} />}
        <p class="fault" role="alert">
          {fault.value === undefined ? '' : faultWords(fault.value)}
        </p>
        {order.value && <OrderFacts order={order.value} prefix={minted.value?.prefix} />}
      </section>
      {isAsked.value && <Replace opened={opened} />}
    </Frame>
  )
}

function State({ opened: { order, locked, fault } }: { opened: OpenOrder }) {
  if (locked.value !== 'no') {
    return <p>{say(locked.value === 'unknown' ? 'shop_unknown' : 'shop_wrong')}</p>
  }
  const found = order.value
  if (!found) return <p>{fault.value === undefined ? say('shop_looking') : ''}</p>
  return (
    <>
      <p class={`state ${toneOf(found)}`}>{stateWords(found)}</p>
      <p>{nextWords(found)}</p>
      {isUnderWay(found) && <p class="soft">{say('shop_watching')}</p>}
    </>
  )
}

/** What the buyer can do now. */
function Steps({ opened }: { opened: OpenOrder }) {
  const { order, locked, secret } = opened
  const found = order.value
  if (!found || locked.value !== 'no') return null
  const waits = isUnderWay(found)
  return (
    <>
      <div class="row">
        {found.url !== null && (
          <a class="button" href={found.url}>
            {say('shop_go_pay')}
          </a>
        )}
        {found.claimable && <ClaimButton opened={opened} isFirst={found.claimed_at === null} />}
        {(found.state === 'failed' || found.state === 'expired') && (
          <a class="button" href="/pricing">
            {say('shop_again')}
          </a>
        )}
      </div>
      {(waits || found.claimable) && (
        <p class="soft">
          {say('shop_back')} <a href={`#${secret()}`}>{say('shop_link')}</a>
        </p>
      )}
    </>
  )
}

/** Claiming again ends the key that was shown before: that is asked first. */
const isAsked = signal(false)

function ClaimButton({ opened: { minting, mint }, isFirst }: ClaimButtonProps) {
  const ask = () => {
    isAsked.value = true
  }
  return (
    <button
      type="button"
      class={isFirst ? '' : 'plain'}
      disabled={minting.value}
      onClick={isFirst ? () => void mint() : ask}
    >
      {say(isFirst ? 'shop_show' : 'shop_anew')}
    </button>
  )
}

interface ClaimButtonProps {
  opened: OpenOrder
  isFirst: boolean
}

function Replace({ opened: { mint } }: { opened: OpenOrder }) {
  const close = () => {
    isAsked.value = false
  }
  return (
    <Dialog title={say('shop_anew_title')} onClose={close}>
      <p>{say('shop_anew_how')}</p>
      <p>
        {say('shop_anew_roll')} <a href="/key">{say('site_key')}</a>
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
          {say('shop_anew')}
        </button>
        <button type="button" class="plain" onClick={close}>
          {say('shop_anew_no')}
        </button>
      </div>
    </Dialog>
  )
}

entitle('shop_order')
const opened = openOrder(location.pathname.replace(/^.*\//, ''))
// What is known at once is shown at once; the rest says that it is being looked for.
void opened.look()
await openPage(() => <OrderPage opened={opened} />)
