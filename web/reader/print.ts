import type { Message } from '../site/api.ts'
import { language, t } from '../site/i18n.ts'
import { frameDocument } from './frame-document.ts'
import { personText } from './message-header.tsx'
import './print.css'

// Our origin, so that we can measure and print it, but no scripts: nothing in it can make use of the origin.
const SANDBOX = 'allow-same-origin allow-modals'
const KEPT_MS = 60_000

/** The document of the message on display, if that is HTML. */
let shown: string | undefined

/** The copy that was printed last. */
let printed: Copy | undefined

/** Prints the message alone: what is on display, or its text, below a short header. */
export function printMessage(message: Message): void {
  printed?.remove()
  const copy = openCopy(message, shown, {
    onReady(frame) {
      frame.className = 'print-frame'
      const focused = document.activeElement
      // Safari prints the page that has the focus.
      frame.contentWindow?.focus()
      frame.contentWindow?.print()
      if (focused instanceof HTMLElement) focused.focus()
    },
  })
  printed = copy
  document.body.append(copy.frame)
  // On a phone the preview outlives the call.
  setTimeout(() => copy.remove(), KEPT_MS)
}

// Narrower than any paper: on paper the mail is at most as high.
const MEASURED_WIDTH = 640

/**
 * For the menu of the browser, and for keys pressed inside the mail, which we do not see: the browser prints the page, in which a copy
 * of the mail replaces everything else. The height of the frame on display is unknown to us, and so would be cut off. No browser
 * breaks a frame between lines: one may be divided by the end of a page, unlike with `printMessage`.
 * `onLayout`: once the mail is parsed, and again when it has its pictures.
 */
export function preparePrint(
  message: Message,
  srcdoc: string,
  onLayout: (copy: HTMLIFrameElement) => void,
): () => void {
  shown = srcdoc
  const { frame, remove } = openCopy(message, srcdoc, {
    onParsed: onLayout,
    onReady: () => frame.classList.add('ready'),
  })
  frame.addEventListener('load', () => onLayout(frame))
  // Once the mail itself is on display.
  const timer = setTimeout(() => document.body.append(frame))
  const measure = () => {
    frame.style.cssText = `display:block;width:${MEASURED_WIDTH}px;height:0`
    const height = frame.contentDocument?.documentElement.scrollHeight ?? 0
    frame.style.cssText = `height:${height}px`
  }
  addEventListener('beforeprint', measure)
  return () => {
    shown = undefined
    clearTimeout(timer)
    removeEventListener('beforeprint', measure)
    remove()
  }
}

const PARSE_CHECK_MS = 100
// One picture may take minutes.
const MAX_PICTURES_MS = 5_000

interface Copy {
  frame: HTMLIFrameElement
  remove(): void
}

interface CopyEvents {
  onParsed?(frame: HTMLIFrameElement): void
  /** Its pictures are loaded, or take too long. */
  onReady(frame: HTMLIFrameElement): void
}

/** To be appended by the caller. */
function openCopy(
  message: Message,
  srcdoc: string | undefined,
  { onParsed, onReady }: CopyEvents,
): Copy {
  const frame = document.createElement('iframe')
  frame.setAttribute('sandbox', SANDBOX)
  frame.setAttribute('aria-hidden', 'true')
  frame.tabIndex = -1
  // Not displayed until it is loaded.
  frame.className = 'print-copy'
  frame.srcdoc = srcdoc ?? frameDocument('', { remoteImages: false })
  let limit: ReturnType<typeof setTimeout> | undefined
  let isReady = false
  const setReady = () => {
    if (!isReady) onReady(frame)
    isReady = true
  }
  const complete = (page: Document) => {
    clearInterval(timer)
    if (limit !== undefined) return
    limit = setTimeout(setReady, MAX_PICTURES_MS)
    removeRemoteStyles(page)
    if (srcdoc === undefined) page.body.append(paragraph(page, message.body_text ?? ''))
    page.body.prepend(headerOf(message, page))
    onParsed?.(frame)
  }
  // Its events are not seen by us in all browsers.
  const timer = setInterval(() => {
    const page = frame.contentDocument
    // A new frame has an empty document at first.
    if (page?.URL === 'about:srcdoc' && page.readyState !== 'loading') complete(page)
  }, PARSE_CHECK_MS)
  frame.addEventListener('load', () => {
    if (!frame.contentDocument) return
    complete(frame.contentDocument)
    setReady()
  })
  const remove = () => {
    clearInterval(timer)
    clearTimeout(limit)
    frame.remove()
  }
  return { frame, remove }
}

// As the sanitiser leaves them.
const REMOTE_IMAGE = /url\("(?!data:)[^"]*"\)/g

/** Chromium tells other servers our origin when a frame of it loads an image of a style, whatever the policy. Few print those. */
function removeRemoteStyles(page: Document): void {
  for (const element of page.querySelectorAll('[style]')) {
    const style = element.getAttribute('style') ?? ''
    element.setAttribute('style', style.replace(REMOTE_IMAGE, 'none'))
  }
  for (const sheet of page.querySelectorAll('style')) {
    sheet.textContent = (sheet.textContent ?? '').replace(REMOTE_IMAGE, 'none')
  }
}

function headerOf(message: Message, page: Document): HTMLElement {
  const header = page.createElement('header')
  const title = page.createElement('h1')
  title.style.cssText = 'margin:0 0 .25rem;font-size:1.25rem'
  title.textContent = message.subject || t('reader_no_subject')
  const at = new Date(message.received_at_iso)
  const lines = [
    `${t('reader_from')}: ${personText(message.sender_name, message.sender_email)}`,
    `${t('reader_to')}: ${message.to.map(({ name, address }) => personText(name, address)).join(', ')}`,
    at.toLocaleString(language.value, { dateStyle: 'full', timeStyle: 'short' }),
  ]
  header.append(title, paragraph(page, lines.join('\n')))
  header.style.cssText =
    'margin:0 0 1rem;padding:0 0 .5rem;border-bottom:1px solid #999;font:.875rem/1.5 system-ui,sans-serif;text-align:start'
  header.dir = document.documentElement.dir
  return header
}

function paragraph(page: Document, text: string): HTMLElement {
  const element = page.createElement('p')
  element.style.cssText = 'margin:0;white-space:pre-wrap;overflow-wrap:anywhere'
  element.dir = 'auto'
  element.textContent = text
  return element
}
