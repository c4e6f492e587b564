import type { MailDomain } from '../../core/address.ts'
import { StoreUnavailable } from '../../core/problem.ts'
import { maxLifetimeSeconds } from '../../core/session.ts'
import { sessionDomains } from '../../service/sessions/domains.ts'
import { directionOf, type Language } from '../../shared/languages.ts'
import { siteUrl } from '../server/client.ts'
import type { RouteDeps } from '../server/deps.ts'
import { contentResponse, type HttpResponse } from '../server/response.ts'
import type { HttpRequest } from '../server/route.ts'
import type { BuiltPage, EntryFiles } from './assets.ts'
import { html, type Markup } from './html.ts'
import type { Locale } from './locale.ts'

interface Page {
  title: string
  language?: Language
  /** What brings it alive, by the name of its source in web/; none: it needs no script. */
  entry?: string
  /** For the script: see web/site/site-config.ts. */
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
  const loads = entry === undefined ? undefined : built.entry(entry)
  const written = html`<!doctype html>
<html lang="${language}" dir="${directionOf(language)}"${loads ? html` data-scripted` : html``}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – Mayfly</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
${head(built, loads, loads && built.catalogue(language))}${refresh === undefined ? html`` : html`<meta http-equiv="refresh" content="${refresh}">`}
</head>
<body data-facts="${JSON.stringify(facts)}">
<div id="app">
${content}
</div>
</body>
</html>
`
  return contentResponse('text/html; charset=utf-8', written.markup, {
    'cache-control': 'no-store',
    'content-security-policy': policy(showsMail),
    vary: 'Accept-Language',
  })
}

function head(built: BuiltPage, loads: EntryFiles | undefined, words: string | undefined): Markup {
  const early = built.entry('site/early.ts')
  const site = built.entry('site/site.css')
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

/** The places in the navigation; web/site/layout.tsx has the same. */
const NAV_LINKS = [
  ['inbox', '/', 'site_inbox'],
  ['plans', '/pricing', 'site_plans'],
  ['key', '/key', 'site_key'],
  ['docs', '/docs', 'site_docs'],
] as const

type NavLink = (typeof NAV_LINKS)[number][0]

/** What stands above every page: the same that a script puts there, so that nothing jumps when it does. */
export function siteHeader({ say }: Locale, at?: NavLink): Markup {
  const links = NAV_LINKS.map(
    ([place, path, name]) =>
      html`<a href="${path}"${place === at ? html` aria-current="page"` : html``}>${say(name)}</a>`,
  )
  return html`<header class="top">
<a class="mark" href="/">Mayfly</a>
<nav aria-label="${say('site_nav')}">${links}</nav>
</header>`
}

/** What stands below. Theme and language are chosen by a script: without one they follow the device. */
export function siteFooter({ say }: Locale, abuse = ''): Markup {
  return html`<footer class="foot">${abuse === '' ? html`` : html`<a href="mailto:${abuse}">${say('site_abuse')}</a>`}</footer>`
}

/** What our pages know of this installation: see web/site/site-config.ts. */
export interface PageFacts {
  life: number
  longest: number
  cooldown: number
  abuse: string
  operator: string
  checks: boolean
  receipts: boolean
  site: string
}

export async function pageFacts(
  deps: RouteDeps,
  call: Pick<HttpRequest, 'headers' | 'secure'>,
): Promise<PageFacts> {
  const domain = await firstDomain(deps)
  return {
    life: deps.lives.sessionSeconds,
    // The page creates its sessions without a key.
    longest: maxLifetimeSeconds(undefined, deps.lives, false),
    cooldown: deps.cooldownMs / 1000,
    abuse: domain ? `abuse@${domain.name}` : '',
    operator: domain ? `postmaster@${domain.name}` : '',
    checks: deps.checksSenders,
    receipts: deps.receipts,
    site: siteUrl(deps.baseUrl, call),
  }
}

/** None while the store is away: the page itself says so, and goes on by itself when it is back. */
async function firstDomain(deps: RouteDeps): Promise<MailDomain | undefined> {
  try {
    return (await sessionDomains(deps))[0]
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined
    throw error
  }
}
