import { signal } from '@preact/signals'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Message } from '../site/api.ts'
import { Button } from '../site/controls.tsx'
import { t } from '../site/i18n.ts'
import { localStore, parseJson } from '../site/storage.ts'
import { frameDocument } from './frame-document.ts'
import { isDarkened, type OwnColours, ownColours } from './mail-colours.ts'
import { MailFrame } from './mail-frame.tsx'
import { picturesOf } from './pictures.ts'
import { TextView } from './text-views.tsx'

interface HtmlViewProps {
  message: Message
  token: string
  onShown(): void
}

/** To see how the mail looks on a phone. Stays on for the next message. */
export const isPhoneWidth = signal(false)

/** The HTML of a mail, sanitised, in a sandboxed frame. */
export function HtmlView({ message, token, onShown }: HtmlViewProps) {
  const { body_html: html, sender_email: sender, auth } = message
  const [imagesRequested, setImagesRequested] = useState(false)
  const resources = useResources(message, token)
  // From can be forged: a trusted sender must pass DMARC.
  const isVerified = auth?.dmarc === 'pass'
  const isTrusted = isVerified && trustedSenders.has(sender)
  const remoteImages = imagesRequested || isTrusted

  const isTooLarge = useMemo(() => exceedsLimits(html ?? ''), [html])
  const clean = useMemo(() => {
    if (typeof resources === 'string' || !html || isTooLarge) return undefined
    const { sanitise, pictures } = resources
    return sanitise(html, { remoteImages, pictures, leave: `${location.origin}/leave` })
  }, [resources, html, isTooLarge, remoteImages])

  const isShown = isTooLarge || resources !== 'loading'
  useEffect(() => {
    if (isShown) onShown()
  }, [isShown])

  const own = ownColoursOf(clean)
  const isDark = isDarkened(own)
  const isInverted = isDark && own === 'light'
  const colorScheme = isDark && own === 'none' ? 'light dark' : clean?.colorScheme
  const srcdoc = useMemo(
    () => clean && frameDocument(clean.html, { remoteImages, colorScheme, isInverted }),
    [clean, remoteImages, colorScheme, isInverted],
  )
  useEffect(() => {
    ownColours.value = own
  }, [own])

  if (isTooLarge) return <TextFallback reason={t('reader_too_large')} text={message.body_text} />
  if (resources === 'failed') {
    return <TextFallback reason={t('reader_html_failed')} text={message.body_text} />
  }
  if (!clean) return <p class="soft reader-wait">{t('site_loading')}</p>
  return (
    <>
      {clean.remoteImages > 0 && (
        <RemoteImagesNotice
          count={clean.remoteImages}
          isLoaded={remoteImages}
          sender={isVerified ? sender : undefined}
          isTrusted={isTrusted}
          onLoadOnce={() => setImagesRequested(true)}
        />
      )}
      <MailFrame
        message={message}
        srcdoc={srcdoc}
        version={`${remoteImages} ${isDark}`}
        look={`${colorScheme ? ' own-scheme' : ''}${isInverted ? ' inverted' : ''}`}
        isPhoneWidth={isPhoneWidth.value}
      />
    </>
  )
}

type Clean = ReturnType<typeof import('./sanitise.ts').sanitise>

function ownColoursOf(clean: Clean | undefined): OwnColours {
  if (!clean || clean.colorScheme) return 'designed'
  return clean.hasColours ? 'light' : 'none'
}

function TextFallback({ reason, text }: { reason: string; text: string | null }) {
  return (
    <>
      <p class="notice">{reason}</p>
      <TextView text={text} />
    </>
  )
}

type Resources =
  | 'loading'
  | 'failed'
  | { sanitise: typeof import('./sanitise.ts').sanitise; pictures: Map<string, string> }

/** The sanitiser and the pictures attached to the mail. */
function useResources(message: Message, token: string): Resources {
  const [resources, setResources] = useState<Resources>('loading')
  useEffect(() => {
    const abort = new AbortController()
    setResources('loading')
    Promise.all([loadSanitiser(), picturesOf(message, token, abort.signal)]).then(
      ([{ sanitise }, pictures]) => {
        if (!abort.signal.aborted) setResources({ sanitise, pictures })
      },
      // Offline, or a newer build has replaced the files.
      () => setResources('failed'),
    )
    return () => abort.abort()
  }, [message.id, token])
  return resources
}

/** Loaded when the first message is opened. */
export function loadSanitiser() {
  return import('./sanitise.ts')
}

// Larger mail can block the browser for seconds.
const MAX_HTML = 4_000_000
const MAX_TAGS = 20_000

function exceedsLimits(html: string): boolean {
  if (html.length > MAX_HTML) return true
  let tags = 0
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) tags += 1
  return tags > MAX_TAGS
}

interface RemoteImagesNoticeProps {
  count: number
  isLoaded: boolean
  /** Undefined if it is not verified, and so cannot be trusted. */
  sender: string | undefined
  isTrusted: boolean
  onLoadOnce(): void
}

/** One line above the mail; with one pane it floats at the bottom. */
function RemoteImagesNotice(props: RemoteImagesNoticeProps) {
  const { count, isLoaded, sender, isTrusted, onLoadOnce } = props
  const [isDismissed, setDismissed] = useState(false)
  if (isDismissed || (isLoaded && !isTrusted)) return null
  const dismissButton = (
    <Button
      icon="close"
      class="quiet icon small"
      aria-label={t('site_dismiss')}
      title={t('site_dismiss')}
      onClick={() => setDismissed(true)}
    />
  )
  if (isTrusted && sender) {
    return (
      <div class="remote-images" role="status">
        <p>{t('reader_images_always_loaded', { sender })}</p>
        <Button class="plain small" onClick={() => trustedSenders.set(sender, false)}>
          {t('reader_images_stop')}
        </Button>
        {dismissButton}
      </div>
    )
  }
  return (
    <div class="remote-images">
      <p>
        <strong>{t('reader_images', { count })}</strong> <span>{t('reader_images_why')}</span>
      </p>
      <Button
        class="plain small"
        title={sender ? undefined : t('reader_images_unverified')}
        onClick={onLoadOnce}
      >
        {t('reader_images_load_once')}
      </Button>
      {sender && (
        <Button class="plain small remote-always" onClick={() => trustedSenders.set(sender, true)}>
          <span>{t('reader_images_load_always', { sender })}</span>
        </Button>
      )}
      {dismissButton}
    </div>
  )
}

const STORAGE_KEY = 'images'
const MAX_SENDERS = 200

const senders = signal<readonly string[]>(loadSenders())

/** Senders whose remote images are loaded without asking. The caller makes sure that From is not forged. */
const trustedSenders = {
  has: (sender: string): boolean => senders.value.includes(sender.toLowerCase()),
  set(sender: string, isTrusted: boolean): void {
    const name = sender.toLowerCase()
    const others = loadSenders().filter((one) => one !== name)
    senders.value = isTrusted ? [...others, name].slice(-MAX_SENDERS) : others
    const text = JSON.stringify(senders.value)
    localStore.set(STORAGE_KEY, senders.value.length > 0 ? text : undefined)
  },
}

function loadSenders(): string[] {
  const list = parseJson(localStore.get(STORAGE_KEY))
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : []
}
