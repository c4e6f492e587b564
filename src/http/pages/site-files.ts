import { readFileSync } from 'node:fs'
import { Type } from 'typebox'
import { parseHost } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'
import { mtaStsPolicy } from '../../mail/rules/mta-sts.ts'
import { textDirection } from '../../shared/languages.ts'
import { THEME_COLOURS } from '../../shared/site.ts'
import { siteUrl } from '../server/client-address.ts'
import { contentResponse } from '../server/response.ts'
import { route } from '../server/route.ts'
import type { PageDeps } from './deps.ts'
import { html } from './html.ts'
import { localeOf } from './locale.ts'

const FOR_A_DAY = { 'cache-control': 'public, max-age=86400' }

const ICONS = new Map(
  ['icon-192.png', 'icon-512.png', 'maskable-512.png', 'touch-180.png'].map((name) => [
    name,
    readFileSync(new URL(`./icons/${name}`, import.meta.url)),
  ]),
)

const MANIFEST_ICONS = [
  { src: '/favicon.svg', sizes: 'any', type: 'image/svg+xml' },
  { src: '/icons/icon-192.png', sizes: '192x192', type: 'image/png' },
  { src: '/icons/icon-512.png', sizes: '512x512', type: 'image/png' },
  { src: '/icons/maskable-512.png', sizes: '512x512', type: 'image/png', purpose: 'maskable' },
]

/** What browsers, search engines and mail servers request from a site. */
export const siteFileRoutes = [
  route({
    method: 'GET',
    // RFC 8461, of the mail domain that follows mta-sts. in the Host header.
    path: '/.well-known/mta-sts.txt',
    async handle(_input, { mtaSts, hostname, store }: PageDeps, { headers: { host = '' } }) {
      const name = parseHost(/^mta-sts\.([^:]+?)\.?(?:$|:)/i.exec(host)?.[1] ?? '')
      const domain = name && (await store.findDomain(name))
      if (mtaSts === 'off' || !domain || domain.removed)
        throw new Problem('not_found', 'Not found.')
      return contentResponse('text/plain; charset=utf-8', mtaStsPolicy(hostname, mtaSts), {
        'cache-control': 'no-cache',
      })
    },
  }),
  route({
    method: 'GET',
    path: '/manifest.webmanifest',
    async handle(_input, _deps, { headers }) {
      const { language, t } = localeOf(headers['accept-language'])
      const manifest = {
        id: '/',
        name: 'Mayfly',
        short_name: 'Mayfly',
        description: t('plain_description'),
        lang: language,
        dir: textDirection(language),
        start_url: '/',
        scope: '/',
        display: 'standalone',
        theme_color: THEME_COLOURS.light,
        background_color: THEME_COLOURS.light,
        icons: MANIFEST_ICONS,
      }
      return contentResponse('application/manifest+json', JSON.stringify(manifest), {
        ...FOR_A_DAY,
        vary: 'Accept-Language',
      })
    },
  }),
  route({
    method: 'GET',
    path: '/icons/{name}',
    input: Type.Object({ name: Type.String() }),
    async handle({ name }) {
      const icon = ICONS.get(name)
      if (!icon) throw new Problem('not_found', 'Not found.')
      return contentResponse('image/png', icon, FOR_A_DAY)
    },
  }),
  route({
    method: 'GET',
    path: '/robots.txt',
    async handle(_input, { baseUrl }, request) {
      const lines = [
        'User-agent: *',
        ...['/api/', '/emails', '/usage', '/plain', '/orders/', '/pay/', '/leave'].map(
          (path) => `Disallow: ${path}`,
        ),
        '',
        `Sitemap: ${siteUrl(baseUrl, request)}/sitemap.xml`,
        '',
      ]
      return contentResponse('text/plain; charset=utf-8', lines.join('\n'), FOR_A_DAY)
    },
  }),
  route({
    method: 'GET',
    path: '/sitemap.xml',
    async handle(_input, deps: PageDeps, request) {
      const paths = [
        '/',
        '/docs',
        '/docs/coming-from',
        ...(deps.shopOpen ? ['/pricing', '/key'] : []),
      ]
      const site = siteUrl(deps.baseUrl, request)
      const urls = paths.map((path) => html`<url><loc>${site}${path}</loc></url>\n`)
      const xml = html`<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls}</urlset>
`
      return contentResponse('application/xml; charset=utf-8', xml.markup, FOR_A_DAY)
    },
  }),
]
