import { expect } from 'vitest'
import { problemFault, request, type TestResponse } from '../../../../test/kit/http/http-client.ts'

export const ADMIN_TOKEN = 'the-admin-token'
const HEADERS = { authorization: `Bearer ${ADMIN_TOKEN}` }

export type Fields = Record<string, unknown>

/** Calls the admin API with the token, and keeps what it returned. */
export function adminClient(url: () => string) {
  const returned: string[] = []

  async function call(
    method: 'GET' | 'POST',
    path: string,
    values: Record<string, string> = {},
  ): Promise<TestResponse> {
    const params = new URLSearchParams(values)
    const target = `${url()}/admin/api${path}`
    const response =
      method === 'GET'
        ? await request(`${target}?${params}`, { headers: HEADERS })
        : await request(target, { method, headers: HEADERS, body: params })
    returned.push(response.text)
    return response
  }

  async function read(path: string, values: Record<string, string> = {}): Promise<Fields> {
    const { status, body } = await call('GET', path, values)
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }

  /** One field of each entry, by pages of one. */
  async function pages(path: string, name: string, field = 'id', values: Fields = {}) {
    const found: unknown[][] = []
    let next: unknown = null
    do {
      const before = next === null ? {} : { before: String(next) }
      const page = await read(path, { limit: '1', ...values, ...before })
      found.push((page[name] as Fields[]).map((entry) => entry[field]))
      next = page['next']
    } while (next !== null)
    return found
  }

  return {
    returned,
    call,
    read,
    pages,
    list: async (path: string, name: string, values: Record<string, string> = {}) =>
      (await read(path, values))[name] as Fields[],
    /** Each of these POSTs is refused with 400 and this message. */
    async assertRefused(cases: readonly (readonly [string, Record<string, string>, RegExp])[]) {
      for (const [path, values, message] of cases) {
        const response = await call('POST', path, values)
        const isEmpty = Object.keys(values).length === 0
        assertProblem(response, 400, isEmpty ? 'missing_parameter' : 'invalid_parameter')
        expect(String(response.body['message'])).toMatch(message)
      }
    },
  }
}

/** The cookie of a new sign-in. */
export async function signInTo(url: string): Promise<{ cookie: string; flags: string[] }> {
  const signedIn = await request(`${url}/admin/api/sign-in`, { method: 'POST', headers: HEADERS })
  expect(signedIn.status).toBe(200)
  const [cookie = '', ...flags] = (signedIn.headers.get('set-cookie') ?? '').split('; ')
  return { cookie, flags }
}

export function assertProblem(
  response: TestResponse,
  status: number,
  code: string,
  what = response.text,
): void {
  expect([response.status, response.body['code']], what).toStrictEqual([status, code])
  expect(problemFault(response)).toBeUndefined()
}
