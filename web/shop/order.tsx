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
  const { order, locked, minting, mint, secret } = opened
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
        {found.claimable && (
          <button type="button" disabled={minting.value} onClick={() => void mint()}>
            {say(found.claimed_at === null ? 'shop_show' : 'shop_anew')}
          </button>
        )}
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

entitle('shop_order')
const opened = openOrder(location.pathname.replace(/^.*\//, ''))
// What is known at once is shown at once; the rest says that it is being looked for.
void opened.look()
await openPage(() => <OrderPage opened={opened} />)
