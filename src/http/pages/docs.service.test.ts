import assert from 'node:assert/strict'
import { beforeAll, describe, test } from 'vitest'
import { type App, sharedApp } from '../../../test/support/app.ts'
import { request, sendRaw } from '../../../test/support/http-client.ts'
import { openTestServer } from '../../../test/support/http-server.ts'
import { PAGE_POLICY as POLICY, policyFault } from '../../../test/support/page-policy.ts'
import { documentedRoutes, routes } from '../routes.ts'
import { problemStatus } from '../server/problem-response.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp()
})

const _routeOf = (path: string) => {
  const found = routes.find((route) => route.path === path)
  assert.ok(found)
  return found
}

interface Operation {
  parameters?: { name: string; in: string; required: boolean }[]
  security?: Record<string, string[]>[]
  requestBody?: { content: Record<string, { schema: { properties: object } }> }
  responses: Record<string, { description: string; headers?: Record<string, unknown> }>
}

describe('/openapi.json', () => {
  describe('200', () => {
    test('has every endpoint with its parameters and responses', async () => {
      const { body } = await request(`${app.url}/openapi.json`)
      assert.equal(body['openapi'], '3.1.0')
      const paths = body['paths'] as Record<string, Record<string, Operation>>
      for (const route of documentedRoutes) {
        const operation = paths[route.path]?.[route.method.toLowerCase()]
        assert.ok(operation, route.path)
        const names = Object.keys(route.input.properties)
        const { parameters = [], requestBody } = operation
        const documented = [
          ...parameters.filter((one) => one.in !== 'header').map(({ name }) => name),
          ...Object.keys(requestBody?.content['application/json']?.schema.properties ?? {}),
        ]
        assert.deepEqual(documented, names, route.path)
        for (const code of route.problems) assert.ok(operation.responses[problemStatus[code]], code)
      }
    })

    const operations = async () => {
      const { body } = await request(`${app.url}/openapi.json`)
      const paths = body['paths'] as Record<string, Record<string, Operation>>
      return Object.entries(paths).flatMap(([path, methods]) =>
        Object.values(methods).map((operation) => ({ path, ...operation })),
      )
    }

    test('documents request and response headers', async () => {
      const all = await operations()
      const pathsWith = (header: string) =>
        all
          .filter(({ parameters = [] }) =>
            parameters.some((one) => one.in === 'header' && one.name === header),
          )
          .map(({ path }) => path)
      const conditional = ['/api/check-mail', '/emails']
      assert.deepEqual(pathsWith('If-None-Match'), conditional)
      assert.deepEqual(pathsWith('Last-Event-ID'), ['/api/events'])
      for (const { path, responses } of all) {
        const tagged = ['200', '304'].filter((code) => responses[code]?.headers?.['ETag'])
        assert.deepEqual(tagged, conditional.includes(path) ? ['200', '304'] : [], path)
      }
    })

    test('documents the quota headers of every response to a valid key', async () => {
      for (const { path, responses } of await operations()) {
        const withQuota = Object.keys(responses).filter(
          (code) => responses[code]?.headers?.['RateLimit'],
        )
        const isKeyed = /^\/(?:emails|usage|api\/roll-key|webhooks(?:\/.*)?)$/.test(path)
        assert.equal(
          withQuota.includes('200') && withQuota.includes('429') && withQuota.includes('500'),
          isKeyed,
          path,
        )
        assert.equal(withQuota.includes('401'), false, path)
      }
    })

    test('documents the errors that any request can get, and Retry-After', async () => {
      for (const { path, responses } of await operations()) {
        for (const code of ['429', '503']) {
          if (responses[code]) assert.ok(responses[code].headers?.['Retry-After'], path)
        }
        assert.ok(responses['503'], path)
        assert.equal(responses['431']?.description, 'too_large', path)
      }
    })

    test('lists missing_parameter only for operations with a required parameter', async () => {
      const listed = (await operations())
        .filter(({ responses }) => responses['400']?.description.includes('missing_parameter'))
        .map(({ path }) => path)
      const withRequired = documentedRoutes.filter(({ input }) => (input.required ?? []).length > 0)
      assert.deepEqual(
        listed,
        withRequired.map(({ path }) => path),
      )
    })

    test('lists shutting_down for operations that wait', async () => {
      const listed = (await operations())
        .filter(({ responses }) => responses['503']?.description.includes('shutting_down'))
        .map(({ path }) => path)
      assert.deepEqual(listed, [
        '/api/check-mail',
        '/api/read-mail',
        '/api/attachment',
        '/emails',
        '/readyz',
      ])
    })

    test('the metrics accept the admin token', async () => {
      const metrics = (await operations()).find(({ path }) => path === '/metrics')
      assert.deepEqual(metrics?.security, [{ adminToken: [] }, {}])
    })

    test('each POST accepts a form, JSON and multipart', async () => {
      const { body } = await request(`${app.url}/openapi.json`)
      const paths = body['paths'] as Record<string, Record<string, Operation>>
      const types = Object.keys(paths['/api/create-session']?.['post']?.requestBody?.content ?? {})
      assert.deepEqual(types.toSorted(), [
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
      assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
      for (const { path } of routes.filter((route) => route.path.startsWith('/api/'))) {
        assert.ok(text.includes(`<code>${path}</code>`), path)
      }
      for (const code of Object.keys(problemStatus))
        assert.ok(text.includes(`<code>${code}</code>`), code)
    })

    test('loads only files of the build', async () => {
      const { text, headers } = await request(`${app.url}/docs`)
      assert.equal(policyFault(text), undefined)
      assert.equal(headers.get('content-security-policy'), POLICY)
    })

    test('has a console for every operation that a form can call', async () => {
      const { text } = await request(`${app.url}/docs`)
      const consoles = [...text.matchAll(/data-call="([^"]*)"/g)].map(([, call]) => call)
      const calls = documentedRoutes
        .filter(({ rawBody }) => !rawBody)
        .map(({ method, path }) => `${method} ${path}`)
      assert.deepEqual(consoles, calls)
    })

    test('the table of contents lists every section, on phones and wide screens', async () => {
      const { text } = await request(`${app.url}/docs`)
      const links = [...text.matchAll(/<li><a href="#([^"]*)"/g)].map(([, id]) => id)
      const sections = [...text.matchAll(/<section id="([^"]*)"/g)].map(([, id]) => id)
      assert.deepEqual(links.toSorted(), [...sections, ...sections].toSorted())
    })

    test('samples use the host of the request, unless it is invalid', async () => {
      const page = (await request(`${app.url}/docs`)).text
      assert.ok(page.includes(`curl -X POST ${app.url}/api/create-session`))
      const hostileRequest = 'GET /docs HTTP/1.1\r\nHost: x"><script>\r\nConnection: close\r\n\r\n'
      const received = await sendRaw(app.httpPort, hostileRequest)
      assert.doesNotMatch(received, /<script>/)
      assert.ok(received.includes('curl -X POST http://HOST/api/create-session'))
    })

    test('samples use the configured base URL if there is one', async () => {
      const server = await openTestServer({ env: { MAYFLY_BASE_URL: 'https://mail.example' } })
      const { text } = await request(`${server.url}/docs`)
      await server.stop()
      assert.ok(text.includes('curl -X POST https://mail.example/api/create-session'))
      assert.ok(!text.includes(server.url))
    })
  })
})
