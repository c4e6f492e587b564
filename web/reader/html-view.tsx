import { signal } from '@preact/signals'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Message } from '../site/api-client.ts'
import { t } from '../site/i18n.ts'
import { localStore } from '../site/storage.ts'
import { frameDocument, SANDBOX } from './frame-document.ts'
import { picturesOf } from './pictures.ts'
import { TextView } from './text-views.tsx'

interface HtmlViewProps {
  message: Message
  token: string
  onShown(): void
}

/** A mail as its sender laid it out, in a frame that can do nothing but show it. */
export function HtmlView({ message, token, onShown }: HtmlViewProps) {
  const { body_html: html, sender_email: sender, auth } = message
  const [imagesRequested, setAsked] = useState(false)
  const resources = useResources(message, token)
  // Anybody can write under another's name: what was allowed to a sender counts only where he is proven.
  const isVerified = auth?.dmarc === 'pass'
  const always = isVerified && trustedSenders.has(sender)
  const remoteImages = imagesRequested || always

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

  if (isTooLarge) return <TextFallback words={t('reader_too_large')} text={message.body_text} />
  if (resources === 'failed') {
    return <TextFallback words={t('reader_no_layout')} text={message.body_text} />
  }
  if (!clean) return <p class="soft reader-wait">{t('reader_loading')}</p>
  return (
    <>
      {clean.remoteImages > 0 && (
        <RemoteImagesNotice
          count={clean.remoteImages}
          loaded={remoteImages}
          sender={isVerified ? sender : undefined}
          always={always}
          onOnce={() => setAsked(true)}
        />
      )}
      <iframe
        // Another policy is another document: a frame is never given a second one.
        key={String(remoteImages)}
        class="mail-frame"
        title={t('reader_frame', { subject: message.subject || t('reader_no_subject') })}
        sandbox={SANDBOX}
        referrerpolicy="no-referrer"
        srcdoc={frameDocument(clean.html, remoteImages)}
      />
    </>
  )
}

function TextFallback({ words, text }: { words: string; text: string | null }) {
  return (
    <>
      <p class="notice">{words}</p>
      <TextView text={text} />
    </>
  )
}

type Resources =
  | 'loading'
  | 'failed'
  | { sanitise: typeof import('./sanitise.ts').sanitise; pictures: Map<string, string> }

/** The sanitiser, which is loaded when it is first needed, and the pictures that came with the mail. */
function useResources(message: Message, token: string): Resources {
  const [ready, setReady] = useState<Resources>('loading')
  useEffect(() => {
    const leaving = new AbortController()
    setReady('loading')
    Promise.all([loadSanitiser(), picturesOf(message, token, leaving.signal)]).then(
      ([{ sanitise }, pictures]) => {
        if (!leaving.signal.aborted) setReady({ sanitise, pictures })
      },
      // The site has moved on to other files, or is out of reach.
      () => setReady('failed'),
    )
    return () => leaving.abort()
  }, [message.id, token])
  return ready
}

/** A part of the page that only who opens a message needs. */
export function loadSanitiser() {
  return import('./sanitise.ts')
}

// Beyond this a browser is busy for seconds with a mail that was only made for that.
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
  loaded: boolean
  /** Whom the reader may trust for good; undefined: nobody vouches for him. */
  sender: string | undefined
  always: boolean
  onOnce(): void
}

/** What is not loaded, and what can be done about it. */
export function RemoteImagesNotice({
  count,
  loaded,
  sender,
  always,
  onOnce,
}: RemoteImagesNoticeProps) {
  if (always && sender) {
    return (
      <div class="remote-images" role="status">
        <p>{t('reader_images_loaded', { sender })}</p>
        <button type="button" class="plain" onClick={() => trustedSenders.remove(sender)}>
          {t('reader_images_stop')}
        </button>
      </div>
    )
  }
  if (loaded) return null
  return (
    <div class="remote-images">
      <p>
        <strong>{t('reader_images', { count })}</strong> {t('reader_images_why')}
        {!sender && <> {t('reader_images_unproven')}</>}
      </p>
      <div class="row">
        <button type="button" class="plain" onClick={onOnce}>
          {t('reader_images_once')}
        </button>
        {sender && (
          <button type="button" class="plain" onClick={() => trustedSenders.add(sender)}>
            {t('reader_images_always', { sender })}
          </button>
        )}
      </div>
    </div>
  )
}

// Addresses of senders, nothing of their mails.
const STORAGE_KEY = 'images'
const MAX_SENDERS = 200

const senders = signal<readonly string[]>(loadSenders())

/** Whose remote images are loaded without a question. Who asks has to know that it is really him: a name is soon forged. */
export const trustedSenders = {
  has: (sender: string): boolean => senders.value.includes(sender.toLowerCase()),
  add(sender: string): void {
    saveSenders([...without(sender), sender.toLowerCase()].slice(-MAX_SENDERS))
  },
  remove(sender: string): void {
    saveSenders(without(sender))
  },
}

function without(sender: string): string[] {
  return loadSenders().filter((one) => one !== sender.toLowerCase())
}

function saveSenders(all: readonly string[]): void {
  senders.value = all
  localStore.set(STORAGE_KEY, all.length > 0 ? JSON.stringify(all) : undefined)
}

function loadSenders(): string[] {
  try {
    const found: unknown = JSON.parse(localStore.get(STORAGE_KEY) ?? '[]')
    return Array.isArray(found) ? found.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}
