import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { announce } from '../site/announce.ts'
import { ApiError } from '../site/api-client.ts'
import { CopyButton } from '../site/copy-button.tsx'
import { ConfirmDialog, Dialog } from '../site/dialog.tsx'
import { loadLanguage, t } from '../site/i18n.ts'
import { siteConfig } from '../site/site-config.ts'
import { startCountdown } from './countdown.ts'
import { ensureMailbox, retryUntilDone } from './first-address.ts'
import type { Mailbox } from './mailbox.ts'
import { saveMailbox, selectMailbox } from './mailboxes.ts'
import { sessionApi } from './session-api.ts'

/** A mailbox from another device that the user has not accepted yet. */
const incomingTransfer = signal<
  { mailbox: Mailbox; decide(isAccepted: boolean): void } | undefined
>(undefined)

/** Accepts a transfer, if there is one, and makes sure that there is an address. */
export async function startAddress(): Promise<void> {
  startCountdown()
  addEventListener('hashchange', () => void receiveTransfer())
  await receiveTransfer()
  await ensureMailbox()
}

async function receiveTransfer(): Promise<void> {
  if (!location.hash.startsWith('#open=')) return
  const token = /^#open=([\w-]{1,128})$/.exec(location.hash)?.[1]
  // Remove the token from the address bar and the history at once.
  history.replaceState(history.state, '', '/')
  // Without a request the texts may not be loaded yet.
  if (!token) await loadLanguage()
  await retryUntilDone(async () => {
    const mailbox = token ? await findMailbox(token) : undefined
    if (!mailbox) return announce(t('address_shared_invalid'))
    if (!(await isAccepted(mailbox))) return
    saveMailbox(mailbox)
    selectMailbox(mailbox)
    announce(t('address_opened', { email: mailbox.email }))
  })
}

async function findMailbox(token: string): Promise<Mailbox | undefined> {
  try {
    return await sessionApi.find(token)
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return undefined
    throw error
  }
}

/** Asks first: the link may come from someone who wants to read the user's mail. */
function isAccepted(mailbox: Mailbox): Promise<boolean> {
  // A second link dismisses the first.
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

export function TransferDialog({ mailbox, onClose }: { mailbox: Mailbox; onClose(): void }) {
  const shown = useRef<HTMLElement>(null)
  const site = isLocal(location.hostname) ? new URL(siteConfig.site) : location
  // The token is in the fragment, which browsers do not send to a server.
  const link = `${site.origin}/#open=${mailbox.token}`
  return (
    <Dialog title={t('address_qr')} onClose={onClose}>
      {isLocal(site.hostname) ? (
        <p class="notice">{t('address_qr_local', { host: site.hostname })}</p>
      ) : (
        <p>{t('address_qr_how')}</p>
      )}
      <QrCode text={link} label={t('address_qr_label', { email: mailbox.email })} />
      <p class="notice">{t('address_qr_warning')}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <pre class="qr-link" tabIndex={0}>
        <code ref={shown}>{link}</code>
      </pre>
      <CopyButton text={link} textRef={shown} caption={t('address_qr_copy_link')} />
    </Dialog>
  )
}

/** Whether only this device can open it. */
function isLocal(hostname: string): boolean {
  return /^(?:(?:.*\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
}

export function IncomingTransferDialog() {
  if (!incomingTransfer.value) return null
  const { mailbox, decide } = incomingTransfer.value
  return (
    <ConfirmDialog
      title={t('address_shared_title')}
      action={t('address_shared_open')}
      onConfirm={() => decide(true)}
      onClose={() => decide(false)}
    >
      <p>{t('address_shared_how', { email: mailbox.email })}</p>
    </ConfirmDialog>
  )
}

function QrCode({ text, label }: { text: string; label: string }) {
  const rows = useSignal<boolean[][]>([])
  useEffect(() => {
    // The standard asks for a quiet zone of four modules. If the script cannot be loaded, there is still the link.
    const draw = async () => {
      const { encode } = await import('uqr')
      rows.value = encode(text, { ecc: 'M', border: 4 }).data
    }
    draw().catch(() => undefined)
  }, [text])
  const size = rows.value.length
  // Dark on white in dark mode too: cameras expect that.
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${size || 1} ${size || 1}`}>
      <path d={qrPath(rows.value)} />
    </svg>
  )
}

/** One rectangle per run of dark modules, so that there are no hairlines between them. */
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
