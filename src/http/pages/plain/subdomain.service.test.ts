import { afterAll, beforeAll, expect, test } from 'vitest'
import { request } from '../../../../test/kit/http/http-client.ts'
import { openTestServer } from '../../../../test/kit/http/http-server.ts'
import { domainName } from '../../../../test/kit/store/fixture.ts'
import { assertNoScriptPage, cookieFor, setCookie } from '../testing/no-script-client.ts'

let server: Awaited<ReturnType<typeof openTestServer>>
beforeAll(async () => {
  server = await openTestServer()
})
afterAll(() => server.stop())

const get = (headers = {}) => request(`${server.url}/plain`, { headers })
const send = (values: Record<string, string>) =>
  request(`${server.url}/plain`, { method: 'POST', body: new URLSearchParams(values) })

test('below a wildcard domain a subdomain can be chosen; a wrong one is reported, and stays in the form', async () => {
  expect((await get()).text).not.toContain('id="subdomain"')
  const options = { sessions: true, reader: false, ttlSeconds: undefined }
  await server.store.addDomain({ name: domainName('*.wild.test'), ...options })
  expect((await get()).text).toContain('<option value="2">@*.wild.test</option>')

  const ann = { prefix: 'ann', domain_id: '2', subdomain: 'team' }
  const { value } = setCookie(await send(ann))
  expect((await get(cookieFor(value))).text).toContain('ann<wbr>@team.wild.test')

  for (const [wrong, status, reason] of [
    [{ subdomain: 'a_b' }, 400, 'Use letters, digits and hyphens'],
    [{ subdomain: 'www' }, 400, 'is reserved'],
    [{ domain_id: '1' }, 400, 'For a domain with *'],
    [{}, 409, 'This address is taken'],
  ] as const) {
    const sent = { ...ann, ...wrong }
    const response = await send(sent)
    expect([response.status, response.text]).toEqual([status, expect.stringContaining(reason)])
    expect(response.text).toContain(`name="subdomain" value="${sent.subdomain}"`)
    assertNoScriptPage(response)
  }
})
