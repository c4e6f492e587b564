/**
 * The document in the mail's frame. Its policy is the first thing in it, before anything of the mail, and holds also what
 * a sanitiser might overlook: nothing is loaded but images, and those only from the mail itself until the reader asks.
 */
export function frameDocument(clean: string, remoteImages: boolean): string {
  const policy = [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `img-src data:${remoteImages ? ' http: https:' : ''}`,
    "form-action 'none'",
    "base-uri 'none'",
  ].join('; ')
  return [
    '<!doctype html>',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="referrer" content="no-referrer">',
    '<meta name="color-scheme" content="light">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<style>${BASE_STYLE}</style>`,
    clean,
  ].join('')
}

/** What the frame may do: open a link in a tab of its own. Neither run scripts nor be of our origin, nor lead the page away. */
export const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'

// Senders expect dark ink on white paper. Theirs comes after and wins.
const BASE_STYLE =
  'html{background:#fff;color:#1d2529}body{margin:1rem;font:1rem/1.5 system-ui,sans-serif;overflow-wrap:break-word}' +
  'img{max-width:100%}img:not([src]){outline:1px dashed #b8c0bd;outline-offset:-1px;color:#5a676c;font-size:.8rem}'
