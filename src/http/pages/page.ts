import { file, type HttpResponse } from '../server/response.ts'
import type { BuiltPage, Loads } from './built-page.ts'
import { directionOf, type Language } from './languages.ts'
import { html, type Markup } from './markup.ts'

interface Page {
  title: string
  language?: Language
  /** What brings it alive, by the name of its source in web/; none: it needs no script. */
  entry?: string
  /** For the script: see web/site/facts.ts. */
  facts?: object
  /** What stands there until the script takes over, and for good where there is none. */
  content: Markup
  /** Mail is shown on it, in a frame that inherits this page's policy: its own is narrower by itself. */
  showsMail?: boolean
  /** Seconds after which a page without a script looks again. */
  refresh?: number
}

/** One page of the site, in its one look. */
export function page(built: BuiltPage, page: Page): HttpResponse {
  const { title, language = 'en', entry, facts = {}, content, showsMail = false, refresh } = page
  const loads = entry === undefined ? undefined : built.loads(entry)
  const written = html`<!doctype html>
<html lang="${language}" dir="${directionOf(language)}"${loads ? html` data-scripted` : html``}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – Mayfly</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
${head(built, loads, loads && built.words(language))}${refresh === undefined ? html`` : html`<meta http-equiv="refresh" content="${refresh}">`}
</head>
<body data-facts="${JSON.stringify(facts)}">
<div id="app">
${content}
</div>
</body>
</html>
`
  return file('text/html; charset=utf-8', written.markup, {
    'cache-control': 'no-store',
    'content-security-policy': policy(showsMail),
    vary: 'Accept-Language',
  })
}

function head(built: BuiltPage, loads: Loads | undefined, words: string | undefined): Markup {
  const early = built.loads('site/early.ts')
  const site = built.loads('site/site.css')
  const styles = [...(site ? [site.script] : []), ...(loads?.styles ?? [])]
  const modules = [...(loads?.modules ?? []), ...(words ? [words] : [])]
  return html`${early ? html`<script src="${early.script}"></script>\n` : html``}${[
    ...styles.map((path) => html`<link rel="stylesheet" href="${path}">\n`),
    ...modules.map((path) => html`<link rel="modulepreload" href="${path}">\n`),
  ]}${loads ? html`<script type="module" src="${loads.script}"></script>\n` : html``}`
}

/** Everything comes from this site. A mail's own style is inline, and its images may be anywhere once they are asked for. */
function policy(showsMail: boolean): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${showsMail ? " 'unsafe-inline'" : ''}`,
    `img-src 'self' data: blob:${showsMail ? ' http: https:' : ''}`,
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
