import { Dialog } from '../site/dialog.tsx'
import { say } from '../site/words.ts'
import { handed } from './handed.ts'

/** Asks whether the mailbox of another device is to be opened on this one. */
export function Handed() {
  if (!handed.value) return null
  const { mailbox, decide } = handed.value
  return (
    <Dialog title={say('address_handed_title')} onClose={() => decide(false)}>
      <p>{say('address_handed_how', { email: mailbox.email })}</p>
      <div class="row">
        <button type="button" onClick={() => decide(true)}>
          {say('address_handed_yes')}
        </button>
        <button type="button" class="plain" onClick={() => decide(false)}>
          {say('address_handed_no')}
        </button>
      </div>
    </Dialog>
  )
}
