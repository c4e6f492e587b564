import { domainName, sampleHost } from '../../base/address.ts'
import { unlessUnavailable } from '../../base/jobs/outage.ts'
import { maxLifetimeSeconds } from '../../mail/rules/session.ts'
import { sessionDomains } from '../../mail/sessions/domains.ts'
import { textDirection } from '../../shared/languages.ts'
import {
  type NavigationItem,
  navigation,
  type SiteConfig,
  THEME_COLOURS,
} from '../../shared/site.ts'
import { siteUrl } from '../server/client-address.ts'
import type { HttpRequest } from '../server/request.ts'
import { contentResponse, type HttpResponse } from '../server/response.ts'
import { route } from '../server/route.ts'
import type { BuiltPage, EntryFiles } from './assets.ts'
import type { PageDeps } from './deps.ts'
import { html, type Markup } from './html.ts'
import { type Locale, localeOf } from './locale.ts'

/** What every page depends on: this installation, and the language of the request. */
export interface Site {
  built: BuiltPage
  locale: Locale
  config: SiteConfig
}

interface Page {
  title: string
  /** The title already names the site. */
  namesSite?: boolean
  /** Where it is in the navigation; '': nowhere; undefined: the content has its own header and footer. */
  current?: NavigationItem | ''
  /** The script that takes over, by its source file in web/; undefined: the page needs none. */
  entry?: string
  /** What is shown until the script takes over, and for good without one. */
  content: Markup
  /** The page displays mail in a frame, which inherits the page's policy and narrows it. */
  showsMail?: boolean
  /** Seconds until a page without a script reloads itself. */
  refresh?: number | undefined
  /** The path of a page that search engines may list. */
  publicPath?: string | undefined
  status?: number
  headers?: Record<string, string>
}

export function page(site: Site, options: Page): HttpResponse {
  const { built, config, locale } = site
  const { current, entry, content, showsMail = false, refresh, publicPath } = options
  const { language } = locale
  const title = options.namesSite ? options.title : `${options.title} – Mayfly`
  const files = entry === undefined ? undefined : built.entry(entry)
  const document = html`<!doctype html>
<html lang="${language}" dir="${textDirection(language)}"${files ? html` data-scripted` : html``}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${Object.entries(THEME_COLOURS).map(
  ([scheme, colour]) =>
    html`<meta name="theme-color" content="${colour}" media="(prefers-color-scheme: ${scheme})" data-scheme="${scheme}">\n`,
)}<title>${title}</title>
${sharing(site, title, publicPath)}<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="apple-touch-icon" href="/icons/touch-180.png">
<link rel="manifest" href="/manifest.webmanifest">
${head(built, files, files && built.catalogue(language))}${refresh === undefined ? html`` : html`<meta http-equiv="refresh" content="${refresh}">`}
</head>
<body data-facts="${JSON.stringify(entry === undefined ? {} : config)}">
<div id="app">
${current === undefined ? content : html`${siteHeader(site, current)}\n${content}\n${siteFooter(site)}`}
</div>
</body>
</html>
`
  const response = contentResponse('text/html; charset=utf-8', document.markup, {
    'cache-control': 'no-store',
    'content-security-policy': policy(showsMail),
    vary: 'Accept-Language',
    ...options.headers,
  })
  return { ...response, status: options.status ?? 200 }
}

/** For search engines and links in other sites. */
function sharing({ locale, config }: Site, title: string, publicPath: string | undefined): Markup {
  if (publicPath === undefined) return html`<meta name="robots" content="noindex">\n`
  const description = locale.t('plain_description')
  const url = `${config.site}${publicPath}`
  const image = `${config.site}/icons/icon-512.png`
  const properties = { type: 'website', site_name: 'Mayfly', title, description, url, image }
  return html`<meta name="description" content="${description}">
<link rel="canonical" href="${url}">
${Object.entries(properties).map(
  ([name, value]) => html`<meta property="og:${name}" content="${value}">\n`,
)}`
}

function head(
  built: BuiltPage,
  files: EntryFiles | undefined,
  catalogue: string | undefined,
): Markup {
  const beforePaint = built.entry('site/before-paint.ts')
  const site = built.entry('site/styles/site.css')
  const styles = [...(site ? [site.script] : []), ...(files?.styles ?? [])]
  const modules = [...(files?.modules ?? []), ...(catalogue ? [catalogue] : [])]
  return html`${beforePaint ? html`<script src="${beforePaint.script}"></script>\n` : html``}${[
    ...styles.map((path) => html`<link rel="stylesheet" href="${path}">\n`),
    ...modules.map((path) => html`<link rel="modulepreload" href="${path}">\n`),
  ]}${files ? html`<script type="module" src="${files.script}"></script>\n` : html``}`
}

/** Everything is loaded from this site. Mail has inline styles, and images from anywhere once the reader allows them. */
function policy(showsMail: boolean): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${showsMail ? " 'unsafe-inline'" : ''}`,
    `img-src 'self' data: blob:${showsMail ? ' http: https:' : ''}`,
    "manifest-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

interface SitePage extends Omit<Page, 'title' | 'content'> {
  title: Parameters<Locale['t']>[0]
  /** Which of several pages with this title, in English. */
  subpage?: string
  /** Not for search engines where nothing is sold. */
  isOfShop?: boolean
  /** `isScripted`: a script takes over. */
  content(config: SiteConfig, locale: Locale, isScripted: boolean): Markup
}

/** Renders a page for this request, in the language that the browser prefers. */
export async function sitePage(
  deps: PageDeps,
  request: HttpRequest,
  { title, subpage, publicPath, isOfShop = false, content, ...rest }: SitePage,
): Promise<HttpResponse> {
  const site = await siteOf(deps, request)
  const { locale, config, built } = site
  const isScripted = rest.entry !== undefined && built.entry(rest.entry) !== undefined
  return page(site, {
    ...rest,
    title: subpage === undefined ? locale.t(title) : `${subpage} – ${locale.t(title)}`,
    content: content(config, locale, isScripted),
    publicPath: isOfShop && !config.shop ? undefined : publicPath,
  })
}

/** A page that is the same for every request, but for its language. */
export function pageRoute(path: string, page: SitePage) {
  return route({
    method: 'GET',
    path,
    handle: (_input, deps: PageDeps, request) => sitePage(deps, request, page),
  })
}

/** The header that the script renders, too, so that nothing moves when it takes over. */
export function siteHeader(
  { locale: { t }, config }: Pick<Site, 'locale' | 'config'>,
  current: NavigationItem | '',
): Markup {
  const links = navigation(config.shop).map(
    ([item, path, name]) =>
      html`<a href="${path}"${item === current ? html` aria-current="page"` : html``}>${t(name)}</a>`,
  )
  return html`<header class="top">
<a class="mark" href="/">Mayfly</a>
<span class="tagline">${t('site_tagline')}</span>
<nav aria-label="${t('site_nav')}">${links}</nav>
</header>`
}

/** Without the theme and the language, which need a script. */
export function siteFooter({ locale: { t }, config }: Pick<Site, 'locale' | 'config'>): Markup {
  const { abuse } = config
  if (abuse === '') return html``
  return html`<footer class="foot"><a href="mailto:${abuse}">${t('site_abuse')}</a></footer>`
}

export async function siteOf(deps: PageDeps, request: HttpRequest): Promise<Site> {
  // While the store is unreachable, the page itself reports that, and recovers when the store does.
  const [domain] = (await unlessUnavailable(sessionDomains(deps))) ?? []
  const host = domain && sampleHost(domainName(domain))
  return describeSite(deps, request, siteUrl(deps.baseUrl, request), host)
}

/** For an error, where the store may be unreachable. */
export function siteWithoutStore(deps: PageDeps, request: Pick<HttpRequest, 'headers'>): Site {
  return describeSite(deps, request, deps.baseUrl, undefined)
}

function describeSite(
  deps: PageDeps,
  { headers }: Pick<HttpRequest, 'headers'>,
  url: string,
  domain: string | undefined,
): Site {
  const config = {
    life: deps.lifetimes.sessionSeconds,
    // The page creates its sessions without a key.
    longest: maxLifetimeSeconds(undefined, deps.lifetimes, false),
    cooldown: deps.cooldownMs / 1000,
    abuse: domain ? `abuse@${domain}` : '',
    operator: domain ? `postmaster@${domain}` : '',
    checks: deps.checksSenders,
    receipts: deps.receipts,
    shop: deps.shopOpen,
    ownDomains: deps.ownDomains,
    ownMailLife: deps.ownMailSeconds,
    site: url,
  }
  return { built: deps.builtPage, locale: localeOf(headers['accept-language']), config }
}
