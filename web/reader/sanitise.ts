import createPurifier, { type UponSanitizeAttributeHookEvent } from 'dompurify'
import { leavePath, parseUrl } from '../site/link-target.ts'
import { contentId } from './pictures.ts'
import { createStyleSanitiser, sanitiseStyleSheet } from './sanitise-css.ts'
import { splitNested } from './split-nested.ts'

interface SanitiseOptions {
  /** Keep images of other servers. */
  remoteImages: boolean
  /** Attached pictures as data: URIs, by content id. */
  pictures: ReadonlyMap<string, string>
  /** URL of the page that shows where a link leads. */
  leave: string
}

/**
 * Removes whatever could run, load, submit or overlay. Nothing changes the HTML afterwards, and it is parsed as the frame
 * will parse it: a whole document, in standards mode, without scripts. Our changes precede DOMPurify's own checks.
 */
export function sanitise(html: string, options: SanitiseOptions) {
  // An instance of our own, without hooks of others.
  const purifier = createPurifier(window)
  const context = { ...options, remote: new Set<string>() }
  const imageUrl = (url: string) => imageSource(url, context)
  const colorScheme = declaredScheme(html)
  const rules = { imageUrl, dark: colorScheme !== undefined }
  const cleanStyle = createStyleSanitiser(imageUrl)
  let cssBudget = MAX_CSS
  let hasColours = false

  purifier.addHook('uponSanitizeElement', (node, { tagName }) => {
    // DOMPurify removes it, but first iterates over its content, and each iterator slows down all later changes.
    if (node instanceof HTMLTemplateElement) node.content.replaceChildren()
    if (tagName !== 'style') return
    const css = node.textContent ?? ''
    cssBudget -= css.length
    const clean = cssBudget < 0 ? '' : sanitiseStyleSheet(css, rules)
    node.textContent = clean
    hasColours ||= COLOURS.test(clean)
  })
  purifier.addHook('uponSanitizeAttribute', (node, event) => {
    const { attrName: name, attrValue: value } = event
    const clean = name === 'style' ? cleanStyle(value) : cleanAttribute(node, event, context)
    if (clean === undefined) event.keepAttr = false
    else event.attrValue = clean
    hasColours ||= name === 'style' ? COLOURS.test(clean ?? '') : COLOUR_ATTRIBUTES.has(name)
  })
  purifier.addHook('afterSanitizeAttributes', (node) => {
    if (!node.hasAttribute('href')) return
    node.setAttribute('target', '_blank')
    node.setAttribute('rel', 'noopener noreferrer')
  })

  const clean = purifier.sanitize(`<!doctype html>${splitNested(html)}`, {
    WHOLE_DOCUMENT: true,
    ALLOWED_TAGS,
    ALLOWED_ATTR,
    ALLOW_DATA_ATTR: false,
    ALLOWED_URI_REGEXP: /^https?:/i,
    ADD_URI_SAFE_ATTR: SAFE_ATTRIBUTES,
  })
  // Images on other servers are counted whether they are kept or not.
  return { html: clean, remoteImages: context.remote.size, colorScheme, hasColours }
}

// As browsers serialise them.
const COLOURS =
  /(?:^|[{;\s])(?:background(?:-color|-image)?|color): (?!(?:inherit|initial|unset|revert|none|transparent|currentcolor)\b)/
const COLOUR_ATTRIBUTES = new Set(['bgcolor', 'background', 'color', 'text'])

// Ten times what real mail has.
const MAX_CSS = 500_000

interface Context extends SanitiseOptions {
  /** URLs of images on other servers. */
  remote: Set<string>
}

// Bounded, so that a mail cannot make them slow.
const SCHEMES =
  /<meta\b[^<>]{0,200}\b(?:supported-)?color-schemes?\b[^<>]{0,200}|(?<![\w-])color-scheme\s{0,9}:[^;}"'<]{0,60}/gi

/** The color schemes that the sender has designed for, if dark is among them. */
function declaredScheme(html: string): 'dark' | 'light dark' | undefined {
  const declared = (html.match(SCHEMES) ?? []).join(' ')
  if (!/\bdark\b/i.test(declared)) return undefined
  return /\blight\b/i.test(declared) ? 'light dark' : 'dark'
}

/** The new value, or undefined to remove the attribute. */
function cleanAttribute(
  node: Element,
  { attrName: name, attrValue: value }: UponSanitizeAttributeHookEvent,
  context: Context,
): string | undefined {
  const { localName: tag } = node
  switch (name) {
    case 'href':
      return tag === 'a' || tag === 'area' ? redirectLink(value, context.leave) : undefined
    case 'src':
      return tag === 'img' ? (imageSource(value, context) ?? placeholder(node)) : undefined
    case 'background':
      return imageSource(value, context)
    // Never kept, but counted as a remote image.
    case 'srcset':
      imageSource(value.trim().split(/[\s,]/)[0] ?? '', context)
      return undefined
    default:
      return value
  }
}

const RASTER = /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp|x-icon)[;,]/i

/** Undefined if the image is not loaded. Counts remote images. */
function imageSource(text: string, context: Context): string | undefined {
  const value = text.trim()
  if (RASTER.test(value)) return value
  const cid = /^cid:(.+)$/i.exec(value)?.[1]
  if (cid !== undefined) return context.pictures.get(contentId(cid))
  const url = parseUrl(value)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined
  // The copy that is printed has our origin: the request would carry our cookies, on any port.
  if (url.hostname === new URL(context.leave).hostname) return undefined
  context.remote.add(url.href)
  return context.remoteImages ? url.href : undefined
}

// Smaller ones are spacers and tracking pixels.
const MIN_BOX = 16
// Height of an image that declares only its width, as most newsletters do; icons are square.
const DEFAULT_HEIGHT = 48
const MAX_ALT = 200

/**
 * An empty image with the alternative text, so that the layout stays. Undefined if the width is not known. It has no size of its
 * own: one that is displayed larger or smaller would stretch the text. The attributes give the image its proportions.
 */
function placeholder(node: Element): string | undefined {
  const width = boxLength(node, 'width') ?? 0
  const height = boxLength(node, 'height') ?? Math.min(width, DEFAULT_HEIGHT)
  if (width < MIN_BOX || height < MIN_BOX) return undefined
  for (const [name, length] of Object.entries({ width, height })) {
    if (!node.getAttribute(name)) node.setAttribute(name, String(length))
  }
  const alt = (node.getAttribute('alt') ?? '').slice(0, MAX_ALT).replace(/[<>&]/g, ' ')
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="100%" height="100%"><rect width="100%" height="100%" fill="#87938f22" stroke="#87938f" stroke-dasharray="4"/><text x="8" y="20" font-family="sans-serif" font-size="13" fill="#87938f">${alt}</text></svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg.toWellFormed())}`
}

/** In pixels; a percentage counts as some length, because the attribute sets the size then. */
function boxLength(node: Element, name: 'width' | 'height'): number | undefined {
  const style = node instanceof HTMLElement ? node.style[name] : ''
  const text = node.getAttribute(name) || style
  const pixels = /^\s*(\d{1,4})(?:\.\d+)?(?:px)?\s*$/.exec(text)?.[1]
  if (pixels !== undefined) return Number(pixels)
  return text.trim().endsWith('%') ? 300 : undefined
}

const LINK_SCHEMES = new Set(['http:', 'https:', 'mailto:', 'tel:'])

function redirectLink(value: string, leave: string): string | undefined {
  const url = parseUrl(value)
  return url && LINK_SCHEMES.has(url.protocol) ? leavePath(value.trim(), leave) : undefined
}

// Text and layout. No forms, media, SVG or MathML, and nothing that acts on a key or on focus.
const ALLOWED_TAGS = (
  'html head body style a abbr acronym address area article aside b bdi bdo big blockquote br caption center cite ' +
  'code col colgroup dd del details dfn dir div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header ' +
  'hgroup hr i img ins kbd li main map mark menu nav nobr ol p pre q rp rt ruby s samp section small span strike ' +
  'strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr'
).split(' ')
const SAFE_ATTRIBUTES = (
  'abbr align alt axis bgcolor border bordercolor cellpadding cellspacing char class clear color cols colspan compact ' +
  'coords datetime dir face frame headers height hspace id lang leftmargin link marginheight marginwidth media name ' +
  'noshade nowrap open reversed role rowspan rules scope shape size span start style summary text title topmargin ' +
  'type usemap valign value vlink alink vspace width'
).split(' ')
const ALLOWED_ATTR = [...SAFE_ATTRIBUTES, 'href', 'src', 'background', 'target', 'rel']
