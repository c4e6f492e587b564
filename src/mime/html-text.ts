import { compile } from 'html-to-text'

/** Text for readers and programs that take no HTML. Only what is beyond any letter's size is left out. */
export function textFromHtml(html: string): string {
  return convert(html.slice(0, MAX_LENGTH))
}

const MAX_LENGTH = 1_000_000

const convert = compile({
  wordwrap: false,
  limits: { maxDepth: 200, maxChildNodes: 20_000, maxBaseElements: 10, ellipsis: '…' },
  selectors: [
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, ignoreHref: false } },
    { selector: 'img', format: 'skip' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
      selector,
      options: { uppercase: false },
    })),
  ],
})
