import { expect } from 'vitest'
import { request, type TestResponse } from '../../../test/kit/http/http-client.ts'

export interface Call {
  method?: string
  token?: string
  body?: unknown
  accept?: string
  headers?: Record<string, string>
}

/** mail.tm's API at a service. */
export function mailTmClient(url: string) {
  const call = async (
    path: string,
    { method = 'GET', token, body, accept = 'application/json', headers = {} }: Call = {},
  ): Promise<TestResponse & { list: Record<string, unknown>[] }> => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const response = await request(`${url}/compat/mailtm${path}`, {
      method,
      headers: {
        accept,
        ...(body !== undefined && { 'content-type': type }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const isJson = /^application\/(?:ld\+)?json/.test(response.headers.get('content-type') ?? '')
    const value = isJson && response.text !== '' ? JSON.parse(response.text) : {}
    return { ...response, body: value, list: Array.isArray(value) ? value : [] }
  }

  let names = 0
  return {
    call,
    /** An account that is signed in. */
    async account(name?: string) {
      names += 1
      const address = `${name ?? `account${names}`}@box.test`
      const credentials = { address, password: 'correct horse' }
      const created = await call('/accounts', { method: 'POST', body: credentials })
      expect(created.status, created.text).toBe(201)
      const signedIn = await call('/token', { method: 'POST', body: credentials })
      expect(signedIn.status, signedIn.text).toBe(200)
      const { id, token } = signedIn.body as { id: string; token: string }
      expect(created.body['id']).toBe(id)
      return { ...credentials, id, token }
    },
  }
}
