import { say } from '../site/words.ts'
import { copied, copyAddress } from './copy-address.ts'
import { newAddress, openAddress, trouble, tryAgain } from './deeds.ts'
import { current } from './mailboxes.ts'
import { told } from './tell.ts'
import { sayTrouble } from './trouble.ts'
import './address.css'

// Before the first paint: the answer may be there as soon as the page is.
void openAddress()

/** The address and all that can be done with it. */
export function AddressBar() {
  return (
    <section class="address" aria-label={say('address_title')}>
      <p id="address" class="address-text">
        {current.value?.email}
      </p>
      <button type="button" onClick={() => void copyAddress()} disabled={!current.value}>
        {copied.value ? say(`site_${copied.value}`) : say('site_copy')}
      </button>
      <button type="button" class="plain" onClick={() => void newAddress()}>
        {say('address_new')}
      </button>
      {trouble.value && (
        <p class="notice">
          {sayTrouble(trouble.value)}{' '}
          <button type="button" onClick={tryAgain}>
            {say('address_try')}
          </button>
        </p>
      )}
      <p class="unseen" role="status">
        {told.value}
      </p>
    </section>
  )
}
