import { readFileSync } from 'node:fs'
import { Type } from 'typebox'
import { Problem } from '../../../core/problem.ts'
import { file, type HttpResponse } from '../../server/response.ts'
import { type Route, route } from '../../server/route.ts'
import type { Asset } from '../built-page.ts'

// The name of a built file has its hash in it: another content is another name.
const FOR_EVER = 'public, max-age=31536000, immutable'
const ICON = readFileSync(new URL('../favicon.svg', import.meta.url))

/** What our pages load. */
export const assetRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/assets/{name}',
    title: 'Files of the page',
    about: 'Scripts and styles, as they were built.',
    input: Type.Object({ name: Type.String() }),
    output: 'text/javascript',
    refusals: ['not_found'],
    async handle({ name }, { builtPage }, { headers }) {
      const asset = builtPage.asset(name)
      if (!asset) throw new Problem('not_found', 'There is no such file.')
      return assetAnswer(asset, headers['accept-encoding'])
    },
  }),
  ...['/favicon.svg', '/favicon.ico'].map((path) =>
    route({
      method: 'GET',
      path,
      title: 'Icon',
      about: 'The mark of the site.',
      input: Type.Object({}),
      output: 'image/svg+xml',
      refusals: [],
      handle: async () =>
        file('image/svg+xml', ICON, {
          'cache-control': 'public, max-age=86400',
          'content-security-policy': "default-src 'none'",
        }),
    }),
  ),
]

function assetAnswer({ type, bytes, smaller }: Asset, accepted: string | undefined): HttpResponse {
  const coding = codingOf(accepted)
  const body = (coding && smaller[coding]) ?? bytes
  return file(type, body, {
    'cache-control': FOR_EVER,
    vary: 'Accept-Encoding',
    ...(body === bytes ? {} : { 'content-encoding': coding ?? '' }),
  })
}

function codingOf(accepted = ''): 'br' | 'gzip' | undefined {
  const wanted = accepted
    .split(',')
    .filter((coding) => !/;\s*q=0(\.0*)?\s*$/.test(coding))
    .map((coding) => coding.replace(/;.*/, '').trim().toLowerCase())
  if (wanted.includes('br')) return 'br'
  return wanted.includes('gzip') ? 'gzip' : undefined
}
