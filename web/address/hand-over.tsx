import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { CopyButton } from '../site/copy-button.tsx'
import { Dialog } from '../site/dialog.tsx'
import { say } from '../site/words.ts'
import { handed, handOverLink } from './handed.ts'
import type { Mailbox } from './mailbox.ts'

/** Shows the mailbox's link as something to point a camera at. */
export function HandOver({ mailbox, onClose }: { mailbox: Mailbox; onClose(): void }) {
  const link = handOverLink(mailbox)
  return (
    <Dialog title={say('address_phone_title')} onClose={onClose}>
      <p>{say('address_phone_how')}</p>
      <QrCode text={link} label={say('address_phone_code', { email: mailbox.email })} />
      <p class="notice">{say('address_phone_care')}</p>
      <CopyButton text={link} label={say('address_phone_link')} />
    </Dialog>
  )
}

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

function QrCode({ text, label }: { text: string; label: string }) {
  const rows = useSignal<boolean[][]>([])
  useEffect(() => {
    // Four squares of quiet around it: less, and some cameras do not find it. Where its script cannot be had, the link
    // below still can.
    const draw = async () => {
      const { encode } = await import('uqr')
      rows.value = encode(text, { ecc: 'M', border: 4 }).data
    }
    draw().catch(() => undefined)
  }, [text])
  const size = rows.value.length
  // Dark on white by day and by night: cameras expect it so.
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${size || 1} ${size || 1}`}>
      <path d={darkSquares(rows.value)} />
    </svg>
  )
}

/** One run of dark squares is one rectangle: no hairlines between them. */
function darkSquares(rows: boolean[][]): string {
  const runs = rows.flatMap((row, y) =>
    row.flatMap((dark, x) => {
      if (!dark || row[x - 1]) return []
      const light = row.indexOf(false, x)
      const width = (light < 0 ? row.length : light) - x
      return [`M${x} ${y}h${width}v1h-${width}z`]
    }),
  )
  return runs.join('')
}
