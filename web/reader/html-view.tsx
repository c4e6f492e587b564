import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Message } from '../site/shapes.ts'
import { say } from '../site/words.ts'
import { frameDocument, SANDBOX } from './frame-document.ts'
import { imageWishes } from './image-wishes.ts'
import { picturesOf } from './pictures.ts'
import { RemoteImages } from './remote-images.tsx'
import { TextView } from './text-view.tsx'

interface HtmlViewProps {
  message: Message
  token: string
  onShown(): void
}

/** A mail as its sender laid it out, in a frame that can do nothing but show it. */
export function HtmlView({ message, token, onShown }: HtmlViewProps) {
  const { body_html: html, sender_email: sender, auth } = message
  const [asked, setAsked] = useState(false)
  const ready = useReady(message, token)
  // Anybody can write under another's name: what was allowed to a sender counts only where he is proven.
  const proven = auth?.dmarc === 'pass'
  const always = proven && imageWishes.has(sender)
  const remoteImages = asked || always

  const large = useMemo(() => tooLarge(html ?? ''), [html])
  const clean = useMemo(() => {
    if (typeof ready === 'string' || !html || large) return undefined
    const { sanitise, pictures } = ready
    return sanitise(html, { remoteImages, pictures, leave: `${location.origin}/leave` })
  }, [ready, html, large, remoteImages])

  const isShown = large || ready !== 'loading'
  useEffect(() => {
    if (isShown) onShown()
  }, [isShown])

  if (large) return <Instead words={say('reader_too_large')} text={message.body_text} />
  if (ready === 'failed') {
    return <Instead words={say('reader_no_layout')} text={message.body_text} />
  }
  if (!clean) return <p class="soft reader-wait">{say('reader_loading')}</p>
  return (
    <>
      {clean.remoteImages > 0 && (
        <RemoteImages
          count={clean.remoteImages}
          loaded={remoteImages}
          sender={proven ? sender : undefined}
          always={always}
          onOnce={() => setAsked(true)}
        />
      )}
      <iframe
        // Another policy is another document: a frame is never given a second one.
        key={String(remoteImages)}
        class="mail-frame"
        title={say('reader_frame', { subject: message.subject || say('reader_no_subject') })}
        sandbox={SANDBOX}
        referrerpolicy="no-referrer"
        srcdoc={frameDocument(clean.html, remoteImages)}
      />
    </>
  )
}

function Instead({ words, text }: { words: string; text: string | null }) {
  return (
    <>
      <p class="notice">{words}</p>
      <TextView text={text} />
    </>
  )
}

type Ready =
  | 'loading'
  | 'failed'
  | { sanitise: typeof import('./sanitise.ts').sanitise; pictures: Map<string, string> }

/** The sanitiser, which is loaded when it is first needed, and the pictures that came with the mail. */
function useReady(message: Message, token: string): Ready {
  const [ready, setReady] = useState<Ready>('loading')
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

function tooLarge(html: string): boolean {
  if (html.length > MAX_HTML) return true
  let tags = 0
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) tags += 1
  return tags > MAX_TAGS
}
