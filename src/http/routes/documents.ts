import { Type } from 'typebox'
import { file, readyJson } from '../answer.ts'
import { DOCS_POLICY, docsPage } from '../docs.ts'
import { openapi } from '../openapi.ts'
import { type Route, route } from '../route.ts'
import { siteUrl } from '../site.ts'

/** The documents of these routes: for programs and for people. */
export function documentRoutes(routes: readonly Route[]): Route[] {
  const document = readyJson(openapi(routes), { 'cache-control': 'no-cache' })
  const input = Type.Object({})

  return [
    route({
      method: 'GET',
      path: '/openapi.json',
      title: 'OpenAPI',
      about: 'This interface for programs, as OpenAPI 3.1.',
      input,
      output: Type.Unknown(),
      refusals: [],
      handle: async () => document,
    }),
    route({
      method: 'GET',
      path: '/docs',
      title: 'Documents',
      about: 'This interface for people.',
      input,
      output: 'text/html',
      refusals: [],
      handle: async (_input, needs, { headers }) =>
        file('text/html; charset=utf-8', docsPage(routes, siteUrl(needs.baseUrl, headers.host)), {
          'cache-control': 'no-cache',
          'content-security-policy': DOCS_POLICY,
        }),
    }),
  ]
}
