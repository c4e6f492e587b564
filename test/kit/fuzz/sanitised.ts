import { decodeEntities } from '../../../src/codes/html-tokens.ts'
import { check } from './target.ts'

const TAGS = new Set(
  (
    'style a abbr acronym address area article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del ' +
    'details dfn dir div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hgroup hr i img ins kbd li main map mark ' +
    'menu nav nobr ol p pre q rp rt ruby s samp section small span strike strong sub summary sup table tbody td tfoot th thead ' +
    'time tr tt u ul var wbr'
  ).split(' '),
)
const DANGEROUS =
  /^(?:on|srcset|srcdoc|action|formaction|ping|xlink|xmlns|http-equiv|autofocus|contenteditable|data-)/
const LINK = /^http:\/\/site\.test\/leave[?#]/
const IMAGE = /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp|x-icon|svg\+xml,%3Csvg%20)/i

// As browsers serialise them.
const TAG = /<\/?([a-z][a-z0-9]*)((?: [^\s=<>"]+="[^"]*")*)>/g
const ATTRIBUTE = / ([^=]+)="([^"]*)"/g
const STYLE_SHEET = /<style[^>]*>([^<]*)/g
const DECLARATIONS = /\{([^{}]*)\}/g
const CSS_STRING = /"(?:[^"\\]|\\.)*"/gs
const OTHER_AT_RULE = /(?<!\\)@(?!media\b)/
const CSS_LOADS = /expression\(|behavior\s*:|-moz-binding|javascript:|position:\s*fixed/i
const CSS_URL = /url\(\s*["']?(?!data:image\/|#|["')])/i

/** Throws if there is anything in it that could run, load, submit or overlay, or any markup that another parser might read differently. */
export function checkSanitised(html: string): void {
  const rest = html.replace(TAG, (_, name: string, attributes: string) => {
    check(TAGS.has(name), `an element: ${name}`)
    for (const [, attribute = '', value = ''] of attributes.matchAll(ATTRIBUTE)) {
      checkAttribute(name, attribute.toLowerCase(), decodeEntities(value))
    }
    return ''
  })
  const at = rest.indexOf('<')
  check(at < 0, `markup: ${rest.slice(at, at + 80)}`)
  for (const [, sheet = ''] of html.matchAll(STYLE_SHEET)) {
    check(!OTHER_AT_RULE.test(sheet.replace(CSS_STRING, '')), `a rule: ${sheet.slice(0, 200)}`)
    for (const [, text = ''] of sheet.matchAll(DECLARATIONS)) checkStyle(text)
  }
}

function checkAttribute(tag: string, name: string, value: string): void {
  check(!DANGEROUS.test(name), `an attribute: ${name}`)
  // It cannot be removed, but emptied.
  if (name === 'is') check(value === '', `a custom element: ${value}`)
  if (name === 'href') check(LINK.test(value), `a link of ${tag} to ${value}`)
  if (name === 'src' || name === 'background') check(IMAGE.test(value), `an image from ${value}`)
  if (name === 'style') checkStyle(value)
}

function checkStyle(css: string): void {
  const isSafe = !CSS_LOADS.test(css.replace(CSS_STRING, '')) && !CSS_URL.test(css)
  check(isSafe, `a style: ${css.slice(0, 200)}`)
}
