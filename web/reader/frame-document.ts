/**
 * The document of the frame. The policy comes first, before anything of the mail, and restricts also what the sanitiser
 * might miss: only images are loaded, and only those of the mail itself unless remote images are allowed.
 */
export function frameDocument(clean: string, options: FrameOptions): string {
  const { remoteImages, colorScheme, isInverted } = options
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
    `<meta name="color-scheme" content="${colorScheme ?? 'light'}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<style>html{${colorScheme ? '' : LIGHT}}${BASE_STYLE}${isInverted ? UPRIGHT_IMAGES : ''}</style>`,
    clean,
  ].join('')
}

interface FrameOptions {
  remoteImages: boolean
  colorScheme?: string | undefined
  /** The frame is displayed with inverted colors. */
  isInverted?: boolean
}

/** May open links in a new tab. No scripts, not our origin, no navigation of the page. */
export const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'

// Senders expect dark text on white, unless they declare a color scheme. Their styles come later and take precedence.
const LIGHT = 'background:#fff;color:#1d2529'
const BASE_STYLE =
  'body{margin:1rem;font:1rem/1.5 system-ui,sans-serif;overflow-wrap:break-word}pre{white-space:pre-wrap}' +
  'img{max-width:100%}img:not([src]){outline:1px dashed #b8c0bd;outline-offset:-1px;color:#5a676c;font-size:.8rem}'
const UPRIGHT_IMAGES = '@media screen{img{filter:invert(1) hue-rotate(180deg)}}'
