import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import { request, sendRaw } from '../../../test/kit/http/http-client.ts'
import { openTestServer } from '../../../test/kit/http/http-server.ts'
import { PAGE_POLICY as POLICY, policyFault } from '../../../test/kit/http/page-policy.ts'
import { exampleOf } from '../docs/examples.ts'
import { documentedRoutes, routes } from '../routes.ts'
import { problemStatus } from '../server/problem-response.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp()
})

interface Operation {
  operationId: string
  parameters?: { name: string; in: string; required: boolean }[]
  security?: Record<string, string[]>[]
  requestBody?: { content: Record<string, { schema: { $ref: string } }> }
  responses: Record<string, { description: string; headers?: Record<string, unknown> }>
}

/** What a reference such as `#/components/schemas/Problem` leads to. */
function resolve<T>(document: object, ref: string): T | undefined {
  const found = ref
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (value, name) => (value as Record<string, unknown> | undefined)?.[name],
      document,
    )
  return found === document ? undefined : (found as T | undefined)
}

describe('/openapi.json', () => {
  describe('200', () => {
    test('has every endpoint with its parameters and responses', async () => {
      const { body } = await request(`${app.url}/openapi.json`)
      expect(body['openapi']).toBe('3.1.0')
      const paths = body['paths'] as Record<string, Record<string, Operation>>
      const fieldsOf = ({ requestBody }: Operation) => {
        const { $ref = '' } = requestBody?.content['application/json']?.schema ?? {}
        return Object.keys(resolve<{ properties?: object }>(body, $ref)?.properties ?? {})
      }
      for (const route of documentedRoutes) {
        const operation = paths[route.path]?.[route.method.toLowerCase()]
        expect.assert(operation, route.path)
        expect(route.title && route.description && route.output, route.path).toBeTruthy()
        const names = Object.keys(route.input.properties)
        const { parameters = [] } = operation
        const documented = [
          ...parameters.filter((one) => one.in !== 'header').map(({ name }) => name),
          ...fieldsOf(operation),
        ]
        expect(documented, route.path).toStrictEqual(names)
        for (const code of route.problems)
          expect.assert(operation.responses[problemStatus[code]], code)
      }
    })

    const operations = async () => {
      const { body } = await request(`${app.url}/openapi.json`)
      const paths = body['paths'] as Record<string, Record<string, Operation>>
      return Object.entries(paths).flatMap(([path, methods]) =>
        Object.values(methods).map((operation) => ({ path, ...operation })),
      )
    }

    test('the id of each operation is a verb and a noun', async () => {
      const ids = (await operations()).map(({ operationId }) => operationId)
      expect(new Set(ids).size).toBe(ids.length)
      expect(ids.filter((id) => !/^[a-z]+(?:[A-Z][a-z]+)+$/.test(id))).toStrictEqual([])
    })

    test('each operation names its credentials, and none demands a key as a parameter', async () => {
      const { body } = await request(`${app.url}/openapi.json`)
      const { securitySchemes } = body['components'] as { securitySchemes: object }
      for (const { path, security, parameters = [] } of await operations()) {
        expect.assert(security, path)
        for (const name of security.flatMap((one) => Object.keys(one)))
          expect(securitySchemes, path).toHaveProperty(name)
        const isKey = ({ name }: { name: string }) => /^(apikey|authorization)$/i.test(name)
        expect(parameters.filter(isKey), path).toStrictEqual([])
      }
      const emails = (await operations()).find(({ path }) => path === '/emails')
      expect(emails?.security).toStrictEqual([{ key: [] }, { keyAsBearer: [] }])
    })

    test('every reference leads to a component, and every component is used', async () => {
      const { body, text } = await request(`${app.url}/openapi.json`)
      const used = new Set([...text.matchAll(/"\$ref":"([^"]*)"/g)].map(([, ref = '']) => ref))
      for (const ref of used) expect(resolve(body, ref), ref).toBeTruthy()
      const { schemas, headers } = body['components'] as { schemas: object; headers: object }
      const components = [
        ...Object.keys(schemas).map((name) => `#/components/schemas/${name}`),
        ...Object.keys(headers).map((name) => `#/components/headers/${name}`),
      ]
      expect(components.filter((ref) => !used.has(ref))).toStrictEqual([])
    })

    test('lists the events that webhooks deliver', async () => {
      const { body } = await request(`${app.url}/openapi.json`)
      expect(Object.keys(body['webhooks'] as object)).toStrictEqual([
        'message.received',
        'webhook.test',
      ])
    })

    test('documents request and response headers', async () => {
      const all = await operations()
      const pathsWith = (header: string) =>
        all
          .filter(({ parameters = [] }) =>
            parameters.some((one) => one.in === 'header' && one.name === header),
          )
          .map(({ path }) => path)
      const conditional = ['/api/check-mail', '/emails']
      expect(pathsWith('If-None-Match')).toStrictEqual(conditional)
      expect(pathsWith('Last-Event-ID')).toStrictEqual(['/api/events'])
      for (const { path, responses } of all) {
        const tagged = ['200', '304'].filter((code) => responses[code]?.headers?.['ETag'])
        expect(tagged, path).toStrictEqual(conditional.includes(path) ? ['200', '304'] : [])
      }
    })

    test('documents the quota headers of every response to a valid key', async () => {
      for (const { path, responses } of await operations()) {
        const withQuota = Object.keys(responses).filter(
          (code) => responses[code]?.headers?.['RateLimit'],
        )
        const isKeyed =
          /^\/(?:usage|api\/roll-key|(?:emails|sessions|webhooks|domains)(?:\/.*)?)$/.test(path)
        expect(
          withQuota.includes('200') && withQuota.includes('429') && withQuota.includes('500'),
          path,
        ).toBe(isKeyed)
        expect(withQuota.includes('401'), path).toBe(false)
      }
    })

    test('documents the errors that any request can get, and Retry-After', async () => {
      for (const { path, responses } of await operations()) {
        for (const code of ['429', '503']) {
          if (responses[code]) expect(responses[code].headers?.['Retry-After'], path).toBeTruthy()
        }
        expect(responses['503'], path).toBeTruthy()
        expect(responses['431']?.description, path).toBe('too_large')
      }
    })

    test('lists missing_parameter only for operations with a required parameter', async () => {
      const listed = (await operations())
        .filter(({ responses }) => responses['400']?.description.includes('missing_parameter'))
        .map(({ path }) => path)
      // The stream requires one of two.
      const withRequired = documentedRoutes.filter(
        ({ input, path }) => (input.required ?? []).length > 0 || path === '/api/events',
      )
      expect(listed).toStrictEqual(withRequired.map(({ path }) => path))
    })

    test('lists shutting_down for operations that wait', async () => {
      const listed = (await operations())
        .filter(({ responses }) => responses['503']?.description.includes('shutting_down'))
        .map(({ path }) => path)
      expect(listed).toStrictEqual([
        '/api/check-mail',
        '/api/read-mail',
        '/api/attachment',
        '/emails',
        '/emails/{id}',
        '/emails/{id}/attachments/{index}',
        '/readyz',
      ])
    })

    test('the metrics accept the admin token', async () => {
      const metrics = (await operations()).find(({ path }) => path === '/metrics')
      expect(metrics?.security).toStrictEqual([{ adminToken: [] }, {}])
    })

    test('each POST accepts a form, JSON and multipart', async () => {
      const { body } = await request(`${app.url}/openapi.json`)
      const paths = body['paths'] as Record<string, Record<string, Operation>>
      const types = Object.keys(paths['/api/create-session']?.['post']?.requestBody?.content ?? {})
      expect(types.toSorted()).toStrictEqual([
        'application/json',
        'application/x-www-form-urlencoded',
        'multipart/form-data',
      ])
    })
  })
})

describe('/docs', () => {
  describe('200', () => {
    test('lists every endpoint and every error code', async () => {
      const { text, headers } = await request(`${app.url}/docs`)
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
      const always = routes.filter(({ served }) => served === undefined)
      for (const { path } of always.filter((route) => route.path.startsWith('/api/'))) {
        expect(text, path).toContain(`<code>${path}</code>`)
      }
      for (const code of Object.keys(problemStatus))
        expect(text, code).toContain(`<code>${code}</code>`)
    })

    test('loads only files of the build', async () => {
      const { text, headers } = await request(`${app.url}/docs`)
      expect(policyFault(text)).toBeUndefined()
      expect(headers.get('content-security-policy')).toBe(POLICY)
    })

    test('has a console for every operation that a form can call', async () => {
      const { text } = await request(`${app.url}/docs`)
      const consoles = [...text.matchAll(/data-call="([^"]*)"/g)].map(([, call]) => call)
      const calls = documentedRoutes
        .filter(({ rawBody }) => !rawBody)
        .map(({ method, path }) => `${method} ${path}`)
      expect(consoles).toStrictEqual(calls)
    })

    test('has an example for each operation that takes a token or a key, with a choice of languages', async () => {
      const { text } = await request(`${app.url}/docs`)
      const values = [...text.matchAll(/name="example-create-session" value="(\w+)"/g)]
      expect(values.map(([, value]) => value)).toStrictEqual(['curl', 'javascript', 'python'])
      expect(text).toContain(`new Mayfly({ url: &#39;${app.url}&#39;, apiKey: &#39;<var>KEY</var>`)
      const without = documentedRoutes
        .filter(({ api, input }) => api === 'keyed' || 'token' in input.properties)
        .filter((route) => exampleOf(route, app.url) === undefined)
      expect(without.map(({ path }) => path)).toStrictEqual([])
    })

    test('the table of contents lists every section, on phones and wide screens', async () => {
      const { text } = await request(`${app.url}/docs`)
      const links = [...text.matchAll(/<li><a href="#([^"]*)"/g)].map(([, id]) => id)
      const sections = [...text.matchAll(/<section id="([^"]*)"/g)].map(([, id]) => id)
      expect(links.toSorted()).toStrictEqual([...sections, ...sections].toSorted())
    })

    test('samples use the host of the request, unless it is invalid', async () => {
      const page = (await request(`${app.url}/docs`)).text
      expect(page).toContain(`curl -X POST ${app.url}/api/create-session`)
      const hostileRequest = 'GET /docs HTTP/1.1\r\nHost: x"><script>\r\nConnection: close\r\n\r\n'
      const received = await sendRaw(app.httpPort, hostileRequest)
      expect(received).not.toMatch(/<script>/)
      expect(received).toContain('curl -X POST http://HOST/api/create-session')
    })

    test('samples use the configured base URL if there is one', async () => {
      const server = await openTestServer({ env: { MAYFLY_BASE_URL: 'https://mail.example' } })
      const { text } = await request(`${server.url}/docs`)
      await server.stop()
      expect(text).toContain('curl -X POST https://mail.example/api/create-session')
      expect(text).not.toContain(server.url)
    })
  })
})
