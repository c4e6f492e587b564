import { signal } from '@preact/signals'
import { Dialog } from '../site/dialog.tsx'
import { faultWords } from '../site/fault-words.ts'
import { say } from '../site/words.ts'
import { remove } from './deeds.ts'
import type { Mailbox } from './mailbox.ts'

/** Which one is about to be ended: asked first, because its mail goes with it. */
const doomed = signal<Mailbox | undefined>(undefined)
const fault = signal('')

export function askToEnd(mailbox: Mailbox): void {
  fault.value = ''
  doomed.value = mailbox
}

/** Asks whether an address is to end now. */
export function EndDialog() {
  const mailbox = doomed.value
  if (!mailbox) return null
  const close = () => {
    doomed.value = undefined
  }
  const end = async () => {
    try {
      await remove(mailbox)
      close()
      // What asked for it is gone with it. Not before the dialog is: until then nothing else takes the focus.
      setTimeout(() => document.getElementById('new-address')?.focus())
    } catch (found) {
      fault.value = faultWords(found)
    }
  }
  return (
    <Dialog title={say('address_remove_title')} onClose={close}>
      <p>{say('address_remove_how', { email: mailbox.email })}</p>
      <p class="fault" role="alert">
        {fault.value}
      </p>
      <div class="row">
        <button type="button" class="danger" onClick={() => void end()}>
          {say('address_remove_yes')}
        </button>
        <button type="button" class="plain" onClick={close}>
          {say('address_remove_no')}
        </button>
      </div>
    </Dialog>
  )
}
