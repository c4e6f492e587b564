import { signal } from '@preact/signals'
import { Glyph } from '../site/glyphs.tsx'
import { say } from '../site/words.ts'
import { copied, copyAddress } from './copy-address.ts'
import { isCurrentOver } from './countdown.ts'
import { busy, newAddress, trouble } from './deeds.ts'
import { askToEnd } from './farewell.tsx'
import { Handed, HandOver } from './hand-over.tsx'
import { startAddress } from './handed.ts'
import { Life } from './life.tsx'
import { current, forgetful } from './mailboxes.ts'
import { isOpening } from './opening.ts'
import { OwnAddress } from './own-address.tsx'
import { Parted } from './parted.tsx'
import { openSwitcher, Switcher } from './switcher.tsx'
import { sayTrouble } from './trouble.ts'
import './address.css'

// Before the first paint: the answer may be there as soon as the page is.
void startAddress()

const shown = signal<'own' | 'phone' | undefined>(undefined)
const close = () => {
  shown.value = undefined
}

/** The address and all that can be done with it. */
export function AddressBar() {
  const mailbox = current.value
  const isLive = mailbox !== undefined && !isCurrentOver.value
  return (
    <section class="address panel" aria-label={say('address_title')}>
      <div class="address-line">
        <p id="address" class={`address-text${isCurrentOver.value ? ' over' : ''}`}>
          {mailbox ? (
            <bdi dir="ltr">
              <Parted email={mailbox.email} />
            </bdi>
          ) : (
            <Opening />
          )}
        </p>
        <button type="button" onClick={() => void copyAddress()} disabled={!isLive}>
          <Glyph name={copied.value === 'copied' ? 'done' : 'copy'} />
          {copied.value ? say(`site_${copied.value}`) : say('site_copy')}
        </button>
      </div>
      <div class="address-deeds">
        <Life />
        <div class="row">
          <button
            id="new-address"
            type="button"
            class={isLive || isOpening.value ? 'plain' : ''}
            disabled={busy.value || isOpening.value}
            onClick={() => void newAddress()}
          >
            <Glyph name="plus" />
            {say('address_new')}
          </button>
          <button type="button" class="plain" onClick={() => open('own')}>
            <Glyph name="pen" />
            {say('address_own')}
          </button>
          <button type="button" class="plain" disabled={!isLive} onClick={() => open('phone')}>
            <Glyph name="phone" />
            {say('address_phone')}
          </button>
          <button
            type="button"
            class="plain"
            disabled={!isLive}
            onClick={() => mailbox && askToEnd(mailbox)}
          >
            <Glyph name="bin" />
            {say('address_end')}
          </button>
        </div>
      </div>
      <Switcher />
      {trouble.value && <Troubled {...trouble.value} />}
      {forgetful.value && <p class="notice">{say('address_forgetful')}</p>}
      {shown.value === 'own' && <OwnAddress onClose={close} />}
      {shown.value === 'phone' && mailbox && <HandOver mailbox={mailbox} onClose={close} />}
      <Handed />
    </section>
  )
}

function open(which: 'own' | 'phone'): void {
  shown.value = which
}

function Opening() {
  if (!isOpening.value) return <span class="soft">{say('address_none')}</span>
  return <span class="soft">{trouble.value ? '' : say('address_opening')}</span>
}

function Troubled(found: NonNullable<typeof trouble.value>) {
  return (
    <div class="notice bad row" role="alert">
      <span>{sayTrouble(found)}</span>
      {found.kind === 'list_full' ? (
        <button type="button" class="plain" onClick={openSwitcher}>
          {say('address_list')}
        </button>
      ) : (
        <button type="button" class="plain" onClick={found.again}>
          {say('address_try')}
        </button>
      )}
    </div>
  )
}
