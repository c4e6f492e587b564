import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../../../test/kit/app/app.ts'
import { mailTmClient } from '../testing/mailtm-client.ts'

const LINKED = 'application/ld+json'
const ID = /^[0-9a-f]{24}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/

let app: App
let call: ReturnType<typeof mailTmClient>['call']
beforeAll(async () => {
  app = await startApp({
    env: { MAYFLY_DOORS: 'mailtm', MAYFLY_DOMAINS: 'box.test,pool.test,*.wild.test' },
  })
  ;({ call } = mailTmClient(app.url))
})
afterAll(() => app.stop())

describe('GET /domains', () => {
  const domain = (name: string) => ({
    id: expect.stringMatching(ID),
    ...{ domain: name, isActive: true, isPrivate: false },
    createdAt: expect.stringMatching(TIME),
    updatedAt: expect.stringMatching(TIME),
  })

  test('200: JSON is a list; a wildcard domain has no addresses of its own', async () => {
    const { status, list, headers } = await call('/domains?page=1')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toMatch(/^application\/json/)
    expect(list).toStrictEqual([domain('box.test'), domain('pool.test')])
    expect((await call('/domains?page=2')).list).toStrictEqual([])
  })

  test('200: JSON-LD is a collection, which clients without a preference get', async () => {
    const axios = 'application/json, text/plain, */*'
    for (const accept of [LINKED, '*/*', axios]) {
      const { body, headers } = await call('/domains', { accept })
      expect(headers.get('content-type')).toMatch(/^application\/ld\+json/)
      const [first] = body['hydra:member'] as [{ id: string }]
      expect(body).toStrictEqual({
        ...{ '@context': '/contexts/Domain', '@id': '/domains', '@type': 'hydra:Collection' },
        'hydra:member': [
          { '@id': `/domains/${first.id}`, '@type': 'Domain', ...domain('box.test') },
          expect.objectContaining({ domain: 'pool.test' }),
        ],
        'hydra:totalItems': 2,
      })
    }
  })

  test('200: one of them; 404: none', async () => {
    const [first] = (await call('/domains')).list
    const one = await call(`/domains/${first?.['id']}`, { accept: LINKED })
    expect(one.body).toStrictEqual({
      ...{ '@context': '/contexts/Domain', '@id': `/domains/${first?.['id']}`, '@type': 'Domain' },
      ...domain('box.test'),
    })
    for (const id of ['x', '0'.repeat(24), 'f'.repeat(24)]) {
      expect((await call(`/domains/${id}`)).status, id).toBe(404)
    }
  })
})
