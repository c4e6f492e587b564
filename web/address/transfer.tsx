import { signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { announce } from '../site/announce.ts'
import { ApiError } from '../site/api-client.ts'
import { CopyButton } from '../site/copy-button.tsx'
import { Dialog } from '../site/dialog.tsx'
import { loadLanguage, t } from '../site/i18n.ts'
import { startCountdown } from './countdown.ts'
import { ensureMailbox, retryUntilDone } from './first-address.ts'
import type { Mailbox } from './mailbox.ts'
import { saveMailbox, selectMailbox } from './mailboxes.ts'
import { sessionApi } from './session-api.ts'

/** A mailbox that another device has handed over, and that nobody has agreed to yet. */
export const incomingTransfer = signal<
  { mailbox: Mailbox; decide(confirmTransfer: boolean): void } | undefined
>(undefined)

/** What another device opens. The token stands behind the #, which no browser sends to a server. */
export function transferLink({ token }: Mailbox): string {
  return `${location.origin}/#open=${token}`
}

/** Takes what was handed over, if anything was, and sees to it that there is an address. */
export async function startAddress(): Promise<void> {
  startCountdown()
  addEventListener('hashchange', () => void receiveTransfer())
  await receiveTransfer()
  await ensureMailbox()
}

async function receiveTransfer(): Promise<void> {
  if (!location.hash.startsWith('#open=')) return
  const token = /^#open=([\w-]{1,128})$/.exec(location.hash)?.[1]
  // Gone at once from the address bar, the history and the next screenshot.
  history.replaceState(history.state, '', '/')
  // No answer of the server gives them the time to come.
  if (!token) await loadLanguage()
  await retryUntilDone(async () => {
    const mailbox = token ? await findMailbox(token) : undefined
    if (!mailbox) return announce(t('address_handed_over'))
    if (!(await agreed(mailbox))) return
    saveMailbox(mailbox)
    selectMailbox(mailbox)
    announce(t('address_told_opened', { email: mailbox.email }))
  })
}

async function findMailbox(token: string): Promise<Mailbox | undefined> {
  try {
    return await sessionApi.find(token)
  } catch (fault) {
    if (fault instanceof ApiError && fault.status === 401) return undefined
    throw fault
  }
}

/** Somebody may have sent the link to have a stranger use a mailbox that both can read. */
function agreed(mailbox: Mailbox): Promise<boolean> {
  // A second link before the first is answered: the first is left alone.
  incomingTransfer.value?.decide(false)
  return new Promise((resolve) => {
    incomingTransfer.value = {
      mailbox,
      decide(yes) {
        incomingTransfer.value = undefined
        resolve(yes)
      },
    }
  })
}

/** Shows the mailbox's link as something to point a camera at. */
export function TransferDialog({ mailbox, onClose }: { mailbox: Mailbox; onClose(): void }) {
  const link = transferLink(mailbox)
  return (
    <Dialog title={t('address_phone_title')} onClose={onClose}>
      <p>{t('address_phone_how')}</p>
      <QrCode text={link} label={t('address_phone_code', { email: mailbox.email })} />
      <p class="notice">{t('address_phone_care')}</p>
      <CopyButton text={link} label={t('address_phone_link')} />
    </Dialog>
  )
}

/** Asks whether the mailbox of another device is to be opened on this one. */
export function IncomingTransferDialog() {
  if (!incomingTransfer.value) return null
  const { mailbox, decide } = incomingTransfer.value
  return (
    <Dialog title={t('address_handed_title')} onClose={() => decide(false)}>
      <p>{t('address_handed_how', { email: mailbox.email })}</p>
      <div class="row">
        <button type="button" onClick={() => decide(true)}>
          {t('address_handed_yes')}
        </button>
        <button type="button" class="plain" onClick={() => decide(false)}>
          {t('address_handed_no')}
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
      <path d={qrPath(rows.value)} />
    </svg>
  )
}

/** One run of dark squares is one rectangle: no hairlines between them. */
function qrPath(rows: boolean[][]): string {
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
