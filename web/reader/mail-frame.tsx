import { useEffect, useRef, useState } from 'preact/hooks'
import type { Message } from '../site/api.ts'
import { t } from '../site/i18n.ts'
import { SANDBOX } from './frame-document.ts'
import { preparePrint } from './print.ts'
import './mail-frame.css'

interface MailFrameProps {
  message: Message
  srcdoc: string | undefined
  /** Another policy or color scheme needs a new frame. */
  version: string
  look: string
  isPhoneWidth: boolean
}

/** A mail of a fixed width that does not fit a touch screen is scaled, as mail apps do. */
export function MailFrame({ message, srcdoc, version, look, isPhoneWidth }: MailFrameProps) {
  const room = useRef<HTMLDivElement>(null)
  const [scale, setScale] = useState(1)
  useEffect(() => {
    if (srcdoc === undefined) return undefined
    let observer: ResizeObserver | undefined
    const end = preparePrint(message, srcdoc, (copy) => {
      observer?.disconnect()
      observer = observeWidth(room.current, (place) => setScale(fittingScale(copy, place)))
    })
    return () => {
      observer?.disconnect()
      end()
    }
  }, [srcdoc])
  return (
    <div ref={room} class={`mail-fit${isPhoneWidth ? ' phone-width' : ''}`}>
      <iframe
        key={version}
        class={`mail-frame${look}${scale < 1 ? ' scaled' : ''}`}
        style={{ '--scale': scale }}
        title={t('reader_frame', { subject: message.subject || t('reader_no_subject') })}
        sandbox={SANDBOX}
        referrerpolicy="no-referrer"
        srcdoc={srcdoc}
      />
    </div>
  )
}

/** Calls back now and after each change; not with 0, as when the page is printed. */
function observeWidth(
  element: HTMLElement | null,
  onWidth: (element: HTMLElement) => void,
): ResizeObserver | undefined {
  if (!element) return undefined
  let last = 0
  const observer = new ResizeObserver(() => {
    const { clientWidth } = element
    if (clientWidth === 0 || clientWidth === last) return
    last = clientWidth
    onWidth(element)
  })
  observer.observe(element)
  return observer
}

// Text that is smaller is hard to read: a mail that is wider still keeps its size and scrolls sideways.
const MIN_SCALE = 0.5

interface Size {
  clientWidth: number
  clientHeight: number
}

/** The frame on display is not of our origin: its copy is measured instead. */
function fittingScale(copy: HTMLIFrameElement, { clientWidth, clientHeight }: Size): number {
  // With a mouse, a narrow window may be a zoomed one: scaling would undo that. Fingers enlarge by pinching.
  if (!matchMedia('(pointer: coarse)').matches) return 1
  let scale = 1
  // With more room, a mail may choose a wider layout, and need yet more.
  for (let round = 0; round < 2; round += 1) {
    const width = clientWidth / scale
    const needed = widthIn(copy, width, clientHeight / scale)
    if (needed <= width) break
    scale = clientWidth / needed
    if (scale < MIN_SCALE) return 1
  }
  return scale
}

/** The width that the mail needs in a frame of this size, with its scroll bar. */
function widthIn(copy: HTMLIFrameElement, width: number, height: number): number {
  copy.style.cssText = `display:block;position:fixed;visibility:hidden;width:${width}px;height:${height}px`
  const root = copy.contentDocument?.documentElement
  const needed = root ? root.scrollWidth + width - root.clientWidth : width
  copy.style.cssText = ''
  return needed
}
