import { Type } from 'typebox'
import { openapi } from '../../api/openapi.ts'
import { readyJson } from '../../server/response.ts'
import { type Route, route } from '../../server/route.ts'
import { docsContent } from '../docs.ts'
import { page } from '../page.ts'
import { pageFacts } from '../page-facts.ts'
import { localeOf } from '../plain-locale.ts'

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
      async handle(_input, deps, call) {
        const facts = await pageFacts(deps, call)
        const locale = localeOf(call.headers['accept-language'])
        return page(deps.builtPage, {
          title: 'API',
          language: locale.language,
          entry: 'docs/docs.tsx',
          facts,
          content: docsContent(routes, facts, locale),
        })
      },
    }),
  ]
}
