import { decodeEntities, htmlTokens } from '../../../src/codes/html-tokens.ts'
import { check } from './target.ts'

const TAGS =
  /^(?:style|a|abbr|acronym|address|area|article|aside|b|bdi|bdo|big|blockquote|br|caption|center|cite|code|col|colgroup|dd|del|details|dfn|dir|div|dl|dt|em|figcaption|figure|font|footer|h[1-6]|header|hgroup|hr|i|img|ins|kbd|li|main|map|mark|menu|nav|nobr|ol|p|pre|q|rp|rt|ruby|s|samp|section|small|span|strike|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|time|tr|tt|u|ul|var|wbr)$/
const DANGEROUS =
  /^(?:on|srcset|srcdoc|action|formaction|ping|xlink|xmlns|http-equiv|autofocus|contenteditable|data-)/
const LINK = /^http:\/\/site\.test\/leave[?#]/
const IMAGE = /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp|x-icon|svg\+xml,%3Csvg%20)/i
const CSS_LOADS =
  /@import|@font-face|expression\(|behavior\s*:|-moz-binding|javascript:|position:\s*fixed/i
const CSS_URL = /url\(\s*["']?(?!data:image\/|#|["')])/i

const SKIPPED = /<(?:script|[!?])/i
// As browsers serialise them.
const ATTRIBUTE = /\s([^\s=>"]+)(?:="([^"]*)")?/g

/** Throws if another parser than the browser's finds anything in it that could run, load, submit or overlay. */
export function checkSanitised(html: string): void {
  // The tokenizer skips these.
  const skipped = SKIPPED.exec(html.replaceAll(ATTRIBUTE, ' '))?.[0]
  check(skipped === undefined, `an element: ${skipped}`)
  for (const token of htmlTokens(html)) {
    if (token.kind !== 'tag') continue
    const name = token.name.replace(/^\//, '')
    check(TAGS.test(name), `an element: ${name}`)
    for (const [, attribute = '', value = ''] of token.source.matchAll(ATTRIBUTE)) {
      checkAttribute(name, attribute.toLowerCase(), decodeEntities(value))
    }
  }
}

function checkAttribute(tag: string, name: string, value: string): void {
  check(!DANGEROUS.test(name), `an attribute: ${name}`)
  // It cannot be removed, but emptied.
  if (name === 'is') check(value === '', `a custom element: ${value}`)
  if (name === 'href') check(LINK.test(value), `a link of ${tag} to ${value}`)
  if (name === 'src' || name === 'background') check(IMAGE.test(value), `an image from ${value}`)
  if (name === 'style') {
    check(!CSS_LOADS.test(value) && !CSS_URL.test(value), `a style: ${value.slice(0, 200)}`)
  }
}
