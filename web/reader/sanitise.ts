import createPurifier, { type UponSanitizeAttributeHookEvent } from 'dompurify'
import { leavePath, parseUrl } from '../site/link-target.ts'
import { contentId } from './pictures.ts'
import { createStyleSanitiser, sanitiseStyleSheet } from './sanitise-css.ts'

interface SanitiseOptions {
  /** Whether the reader asked for the images that lie elsewhere. */
  remoteImages: boolean
  /** Images that came with the mail, as data: URIs, by their content id. */
  pictures: ReadonlyMap<string, string>
  /** The page that shows where a link leads before it is opened. */
  leave: string
}

interface Sanitised {
  html: string
  /** How many images lie elsewhere, whether they are kept or not. */
  remoteImages: number
}

/**
 * A mail's HTML without all that could run, load, submit or cover. It is the last to touch it, and reads it as the frame
 * will: a whole document, in the mode of today's pages, without scripts. Each change is made before DOMPurify's own check.
 */
export function sanitise(html: string, wishes: SanitiseOptions): Sanitised {
  // One of our own: nobody else's hooks are in it.
  const purifier = createPurifier(window)
  const context = { ...wishes, remote: new Set<string>() }
  const keepsImage = (url: string) => imageSource(url, context) !== undefined
  const cleanStyle = createStyleSanitiser(keepsImage)
  let room = MAX_CSS

  purifier.addHook('uponSanitizeElement', (node, { tagName }) => {
    if (tagName !== 'style') return
    const css = node.textContent ?? ''
    room -= css.length
    node.textContent = room < 0 ? '' : sanitiseStyleSheet(css, keepsImage)
  })
  purifier.addHook('uponSanitizeAttribute', (node, event) => {
    const { attrName: name, attrValue: value } = event
    const kept =
      name === 'style' ? cleanStyle(value) : cleanAttribute(node.localName, event, context)
    if (kept === undefined) event.keepAttr = false
    else event.attrValue = kept
  })
  purifier.addHook('afterSanitizeAttributes', (node) => {
    if (!node.hasAttribute('href')) return
    node.setAttribute('target', '_blank')
    node.setAttribute('rel', 'noopener noreferrer')
  })

  const clean = purifier.sanitize(`<!doctype html>${html}`, {
    WHOLE_DOCUMENT: true,
    ALLOWED_TAGS,
    ALLOWED_ATTR,
    ALLOW_DATA_ATTR: false,
    ALLOWED_URI_REGEXP: /^https?:/i,
    ADD_URI_SAFE_ATTR: SAFE_ATTRIBUTES,
  })
  return { html: clean, remoteImages: context.remote.size }
}

// Real mails have a tenth of it; more only keeps the browser busy.
const MAX_CSS = 500_000

interface Context extends SanitiseOptions {
  /** What lies elsewhere. */
  remote: Set<string>
}

/** What the attribute becomes; undefined: it goes. */
function cleanAttribute(
  tag: string,
  { attrName: name, attrValue: value }: UponSanitizeAttributeHookEvent,
  wishes: Context,
): string | undefined {
  switch (name) {
    case 'href':
      return tag === 'a' || tag === 'area' ? redirectLink(value, wishes.leave) : undefined
    case 'src':
      return tag === 'img' ? imageSource(value, wishes) : undefined
    case 'background':
      return imageSource(value, wishes)
    // Never kept, but a mail that has nothing else wanted to load something too.
    case 'srcset':
      imageSource(value.trim().split(/[\s,]/)[0] ?? '', wishes)
      return undefined
    default:
      return value
  }
}

const RASTER = /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp|x-icon)[;,]/i

/** Where an image is taken from, or undefined when it is not; what lies elsewhere is noted. */
function imageSource(text: string, wishes: Context): string | undefined {
  const value = text.trim()
  if (RASTER.test(value)) return value
  const cid = /^cid:(.+)$/i.exec(value)?.[1]
  if (cid !== undefined) return wishes.pictures.get(contentId(cid))
  const url = parseUrl(value)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined
  wishes.remote.add(url.href)
  return wishes.remoteImages ? url.href : undefined
}

const LINK_SCHEMES = new Set(['http:', 'https:', 'mailto:', 'tel:'])

function redirectLink(value: string, leave: string): string | undefined {
  const url = parseUrl(value)
  return url && LINK_SCHEMES.has(url.protocol) ? leavePath(value.trim(), leave) : undefined
}

// What letters are made of. No form, no media, no other language than HTML, nothing that a key or a focus sets off.
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
