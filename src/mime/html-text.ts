import { compile } from 'html-to-text'

/** Text for readers and programs that take no HTML. Only what is beyond any letter's size is left out. */
export function textFromHtml(html: string): string {
  return convert(withinLimits(html.slice(0, MAX_LENGTH)))
}

const MAX_LENGTH = 1_000_000
const MAX_TAGS = 20_000
/** The parser behind the converter takes time in the square of the depth: 17 s for a megabyte of open tags. */
const MAX_DEPTH = 250
const TAG = /<(\/?)([a-z][a-z0-9]*)/gi
// These end by themselves, or where the next of their kind begins.
const SHALLOW = new Set(
  'area base br col dd dt hr img input li link meta option p param source td th tr wbr'.split(' '),
)

const convert = compile({
  wordwrap: false,
  limits: { maxDepth: MAX_DEPTH, maxBaseElements: 10, ellipsis: '…' },
  selectors: [
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
    { selector: 'img', format: 'skip' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
      selector,
      options: { uppercase: false },
    })),
  ],
})

/** Cuts where the tags get too many or too deep. */
function withinLimits(html: string): string {
  let tags = 0
  let depth = 0
  for (const { 1: slash, 2: name = '', index } of html.matchAll(TAG)) {
    tags += 1
    if (!SHALLOW.has(name.toLowerCase())) depth = Math.max(0, depth + (slash ? -1 : 1))
    if (tags > MAX_TAGS || depth > MAX_DEPTH) return html.slice(0, index)
  }
  return html
}
