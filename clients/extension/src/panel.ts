import { allTrees } from './dom.ts'
import { t } from './texts.ts'

// What we show in a page: an element with a closed shadow tree in the top layer. Styles are set by script, because the page's
// Content-Security-Policy applies to style elements.

const HOST = `all: initial !important; position: fixed !important; margin: 0 !important; display: block !important;
  color-scheme: light dark !important; z-index: 2147483647 !important; opacity: 1 !important; visibility: visible !important;`
const FONT = 'font: 14px/1.4 system-ui, sans-serif;'
const BUTTON = `${FONT} box-sizing: border-box; margin: 0; padding: 6px 12px; border-radius: 8px; cursor: pointer;
  border: 1px solid light-dark(#87938f, #6b787b); background: light-dark(#fff, #1f262a); color: light-dark(#1d2529, #e3e8e6);`
const PRIMARY = `${BUTTON} display: block; width: 100%; border-color: #0b6b63; background: #0b6b63; color: #fff; font-weight: 600;`
const ICON = `${BUTTON} display: block; width: 28px; height: 28px; padding: 3px; border: 0; background: none;`
const BOX = `${FONT} box-sizing: border-box; width: 280px; max-width: calc(100vw - 16px); padding: 10px; border-radius: 12px;
  border: 1px solid light-dark(#87938f, #6b787b); background: light-dark(#fdfdfb, #14181b); color: light-dark(#1d2529, #e3e8e6);
  box-shadow: 0 8px 24px #0004; overflow-wrap: anywhere;`

export interface Panel {
  readonly anchor: HTMLElement | undefined
  /** False once it has closed itself, was replaced, or was removed by the page. */
  isOpen(): boolean
  close(): void
}

export interface Action {
  text: string
  /** First, and across the box. */
  isPrimary?: boolean
  run(): void
}

let open: Panel | undefined

/** The small button inside an e-mail field. */
export function showButton(anchor: HTMLElement, label: string, run: () => void): Panel {
  const { shadow, panel, guard } = openPanel('address', anchor, placeInside)
  const button = create('button', ICON)
  button.type = 'button'
  button.title = label
  button.ariaLabel = label
  // By mouse or touch; the keyboard has a shortcut, and the field keeps the focus.
  button.tabIndex = -1
  button.append(icon())
  guard(button, run)
  shadow.append(button)
  return panel
}

/** A box beside a field, or in the corner. */
export function showBox(
  kind: 'code' | 'note',
  anchor: HTMLElement | undefined,
  lines: string[],
  actions: Action[],
  onDismiss: () => void = () => undefined,
): Panel {
  const { shadow, panel, guard } = openPanel(kind, anchor, placeBelow)
  const box = create('div', BOX)
  box.role = 'region'
  box.ariaLabel = 'Mayfly'
  box.dir = t('direction')
  box.lang = t('language')
  const text = create('div', 'margin: 6px 2px;')
  text.role = 'status'
  for (const line of lines) {
    const paragraph = create('div', '')
    paragraph.textContent = line
    text.append(paragraph)
  }
  const row = create('div', 'display: flex; flex-wrap: wrap; gap: 6px;')
  box.append(text, row)
  const dismiss = () => {
    panel.close()
    onDismiss()
  }
  const close: Action = { text: t('site_close'), run: dismiss }
  for (const { text: caption, isPrimary, run } of [...actions, close]) {
    const button = create('button', isPrimary ? PRIMARY : BUTTON)
    button.type = 'button'
    button.textContent = caption
    guard(button, run)
    if (isPrimary) box.prepend(button)
    else row.append(button)
  }
  shadow.append(box)
  panel.place()
  return panel
}

function openPanel(
  kind: string,
  anchor: HTMLElement | undefined,
  place: (host: HTMLElement, anchor: HTMLElement | undefined) => void,
) {
  open?.close()
  // Not a name that the page could define: it could look into the shadow tree of an element of its own.
  const host = document.createElement('div')
  host.dataset['mayfly'] = kind
  host.style.cssText = HOST
  host.popover = 'manual'
  const shadow = host.attachShadow({ mode: 'closed' })
  // What is outside of a modal dialog cannot be clicked.
  const dialog = anchor?.closest('dialog') ?? undefined
  const parent = dialog ?? document.documentElement
  parent.append(host)
  host.showPopover()
  const follow = () => {
    if (anchor && !anchor.checkVisibility()) panel.close()
    else place(host, anchor)
  }
  const timer = setInterval(follow, 100)
  addEventListener('scroll', follow, { capture: true, passive: true })
  const visibility = watchVisibility(host, shadow, dialog)
  const panel: Panel & { place(): void } = {
    anchor,
    place: follow,
    isOpen: () => open === panel && host.isConnected,
    close() {
      clearInterval(timer)
      removeEventListener('scroll', follow, { capture: true })
      visibility.stop()
      host.remove()
      if (open === panel) open = undefined
    },
  }
  open = panel
  follow()
  /** Acts on a person's click on what the person could see. */
  const guard = (button: HTMLElement, run: () => void) => {
    // The field keeps the focus.
    button.addEventListener('mousedown', (event) => event.preventDefault())
    button.addEventListener('click', (event) => {
      if (event.isTrusted && visibility.isSettled()) run()
    })
  }
  return { shadow, panel, guard }
}

/** A page could cover the button, make it transparent or move it under the pointer, so that people click it without knowing. */
function watchVisibility(host: HTMLElement, shadow: ShadowRoot, dialog?: HTMLElement) {
  let clearSince: number | undefined
  // Until the observer has looked; in Firefox undefined from then on.
  let isVisible: boolean | undefined = false
  let place = ''
  let below = dialog
  const look = (isClick = false) => {
    // Not the host's: what is inside can move alone.
    const box = (shadow.firstElementChild ?? host).getBoundingClientRect()
    const { left, top, width, height } = box
    const before = place
    place = [left, top, width, height].map(Math.round).join(' ')
    // Itself if the page has removed it.
    const root = host.getRootNode() as Partial<Document>
    const isOnTop = root.elementFromPoint?.(left + width / 2, top + height / 2) === host
    // A window of the page may lie over this one, and be closed by the first click of a double-click.
    const isPlain = document.hasFocus() && isOnTop && isAsMade(host)
    const isClear = isPlain && (isVisible ?? !isCovered([host, below], isClick))
    clearSince = isClear && place === before ? (clearSince ?? performance.now()) : undefined
  }
  const timer = setInterval(() => look(), 100)
  // Chromium also sees what lets clicks through, filters and transparency.
  const options = { trackVisibility: true, delay: 100, threshold: 1 }
  const observer = new IntersectionObserver((entries) => {
    const entry = entries.at(-1) as { isVisible?: boolean } | undefined
    isVisible = entry ? entry.isVisible : false
    look()
  }, options)
  observer.observe(host)
  // Opened anew, it comes to lie over what is in it.
  const reopening = new MutationObserver(() => {
    below = undefined
  })
  if (dialog) reopening.observe(dialog, { attributeFilter: ['open'] })
  return {
    isSettled() {
      look(true)
      return clearSince !== undefined && performance.now() - clearSince >= SETTLED_MS
    },
    stop() {
      clearInterval(timer)
      observer.disconnect()
      reopening.disconnect()
    },
  }
}

/** In the top layer, with our styles: those of the page cannot override them, but it can set others, and style pseudo-elements. */
function isAsMade(host: HTMLElement): boolean {
  const isOurs = host.matches(':popover-open') && host.style.cssText === styles.get(host)?.text
  const isEmpty = (name: string) => /^(none|normal)$/.test(getComputedStyle(host, name).content)
  return isOurs && isEmpty('::before') && isEmpty('::after')
}

/** By a view transition, or whatever else is in the top layer: its backdrop, shadow or content can be anywhere. Both can let clicks through. */
function isCovered(allowed: (Element | undefined)[], isClick: boolean): boolean {
  if (document.querySelector(TRANSITION)) return true
  if (isClick || performance.now() - foundAt >= SETTLED_MS) {
    trees = allTrees()
    foundAt = performance.now()
  }
  const inTopLayer = trees.flatMap((tree) => [...tree.querySelectorAll(TOP_LAYER)])
  return inTopLayer.some((other) => !allowed.includes(other))
}

// Not found anew each time: with 20,000 elements, that takes Firefox 70 ms, and the query in known trees 2 ms.
let trees: (Document | ShadowRoot)[] = []
let foundAt = Number.NEGATIVE_INFINITY

const TOP_LAYER = ':popover-open, :modal, :fullscreen'
/** In a list that may have what a browser does not know. */
const TRANSITION = ':is(:active-view-transition)'
const SETTLED_MS = 500
const GAP = 6

function placeInside(host: HTMLElement, anchor: HTMLElement | undefined): void {
  if (!anchor) return
  const { left, right, top, height } = anchor.getBoundingClientRect()
  const isRtl = getComputedStyle(anchor).direction === 'rtl'
  const size = host.offsetWidth || 28
  moveTo(host, isRtl ? left + GAP : right - size - GAP, top + (height - size) / 2)
}

function placeBelow(host: HTMLElement, anchor: HTMLElement | undefined): void {
  const { offsetWidth: width, offsetHeight: height } = host
  if (!anchor) {
    moveTo(host, innerWidth - width - GAP, GAP)
    return
  }
  const { left, bottom, top } = anchor.getBoundingClientRect()
  const isBelow = bottom + GAP + height <= innerHeight
  const x = Math.max(GAP, Math.min(left, innerWidth - width - GAP))
  moveTo(host, x, isBelow ? bottom + GAP : Math.max(GAP, top - height - GAP))
}

/** The styles that we gave to each host: as written, and as the browser writes them. */
const styles = new WeakMap<HTMLElement, { written: string; text: string }>()

function moveTo(host: HTMLElement, x: number, y: number): void {
  const inset = `${Math.round(y)}px auto auto ${Math.round(x)}px`
  const written = `${HOST} inset: ${inset} !important;`
  if (styles.get(host)?.written === written) return
  host.style.cssText = written
  styles.set(host, { written, text: host.style.cssText })
}

function create<Name extends keyof HTMLElementTagNameMap>(name: Name, style: string) {
  const element = document.createElement(name)
  element.style.cssText = style
  return element
}

/** src/http/pages/favicon.svg: files of the extension cannot be loaded by pages. */
function icon(): SVGElement {
  const make = (name: string, attributes: Record<string, string>) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name)
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
    return element as SVGElement
  }
  const svg = make('svg', { viewBox: '0 0 32 32', width: '22', height: '22' })
  const star = 'M16 5l3.2 7.8L27 16l-7.8 3.2L16 27l-3.2-7.8L5 16l7.8-3.2z'
  svg.append(
    make('rect', { width: '32', height: '32', rx: '7', fill: '#0b6b63' }),
    make('path', { d: star, fill: 'none', stroke: '#fff', 'stroke-width': '2.2' }),
  )
  return svg
}
