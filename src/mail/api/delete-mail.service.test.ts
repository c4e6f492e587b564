import { Check } from 'typebox/schema'
import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import {
  ENCODINGS,
  post,
  postJson,
  problemFault,
  request,
} from '../../../test/kit/http/http-client.ts'
import { deleteMailRoute } from './read-mail.ts'

let app: App
let url: string
beforeAll(async () => {
  app = await sharedApp()
  url = `${app.url}/api/delete-mail`
})

const list = async (token: string) =>
  (
    (await request(`${app.url}/api/check-mail?token=${token}&limit=500`)).body['messages'] as {
      id: number
    }[]
  ).map(({ id }) => String(id))

async function sessionWithMail(count: number) {
  const session = await app.session()
  for (let sent = 0; sent < count; sent += 1) await app.mail(session.email)
  return { token: session.token, ids: await list(session.token) }
}

describe('200', () => {
  for (const encoding of ENCODINGS) {
    test(`only the given message is deleted (${encoding})`, async () => {
      const { token, ids } = await sessionWithMail(2)
      const { status, body, headers } = await post(url, { token, id: ids[0] ?? '' }, encoding)
      expect(status).toBe(200)
      expect(Object.keys(body)).toStrictEqual(['status', 'message', 'deleted'])
      expect(body['deleted']).toBe(1)
      expect(typeof body['message']).toBe('string')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(await list(token)).toStrictEqual(ids.slice(1))
      for (const path of ['read-mail', 'raw-mail']) {
        const deleted = await request(`${app.url}/api/${path}?token=${token}&id=${ids[0]}`)
        expect(deleted.status).toBe(404)
      }
    })
  }

  for (const encoding of ENCODINGS) {
    test(`several messages are deleted, unknown and repeated ids ignored (${encoding})`, async () => {
      const { token, ids } = await sessionWithMail(3)
      const several = [ids[0], ids[2], ids[2], '12345'].join(', ')
      const { status, body } = await post(url, { token, ids: several }, encoding)
      expect([status, body['deleted']]).toStrictEqual([200, 2])
      expect(await list(token)).toStrictEqual([ids[1]])
    })
  }

  test('ids may be a JSON array of numbers or of text', async () => {
    const { token, ids } = await sessionWithMail(3)
    const given = [Number(ids[0]), ids[1]]
    const { status, body } = await postJson(url, JSON.stringify({ token, ids: given }))
    expect([status, body['deleted']]).toStrictEqual([200, 2])
    expect(await list(token)).toStrictEqual([ids[2]])
  })

  test('all messages up to an id are deleted, and nothing newer', async () => {
    const { token, ids } = await sessionWithMail(3)
    const params = { token, all: '1', up_to_id: ids[1] ?? '' }
    expect((await post(url, params)).body['deleted']).toBe(2)
    expect(await list(token)).toStrictEqual(ids.slice(0, 1))
    expect((await post(url, params)).body['deleted']).toBe(0)
  })

  test('more messages than one commit deletes are deleted, and 500 ids are accepted', async () => {
    const { token, ids } = await sessionWithMail(120)
    const many = [...ids, ...Array.from({ length: 500 - ids.length }, (_, at) => at)]
    expect((await post(url, { token, ids: many.join() })).body['deleted']).toBe(120)
    expect(await list(token)).toStrictEqual([])
  })

  test('a message of another session is not deleted', async () => {
    const [mine, other] = [await sessionWithMail(1), await sessionWithMail(1)]
    const { body } = await post(url, { token: mine.token, ids: other.ids.join() })
    expect(body['deleted']).toBe(0)
    const upTo = { token: mine.token, all: '1', up_to_id: String(Number.MAX_SAFE_INTEGER) }
    expect((await post(url, upTo)).body['deleted']).toBe(1)
    expect(await list(other.token)).toStrictEqual(other.ids)
  })

  test('the token is accepted as Bearer', async () => {
    const { token, ids } = await sessionWithMail(1)
    const headers = { authorization: `Bearer ${token}` }
    const response = await request(`${url}?id=${ids[0]}`, { method: 'POST', headers })
    expect(response.status).toBe(200)
    expect(await list(token)).toStrictEqual([])
  })
})

describe('400', () => {
  test('each combination of parameters is refused that the schema does not describe, and no other', async () => {
    const { token } = await app.session()
    const pick = <T>(...values: T[]) => values
    for (const id of pick(undefined, 1))
      for (const ids of pick(undefined, [1, 2]))
        for (const all of pick(undefined, false, true))
          for (const upToId of pick(undefined, 1)) {
            const body = JSON.stringify({ token, id, ids, all, up_to_id: upToId })
            const { status } = await postJson(url, body)
            const isDescribed = Check(deleteMailRoute.input, JSON.parse(body))
            expect(status === 400, body).toBe(!isDescribed)
          }
  })

  test('a missing token or id is refused', async () => {
    const { token } = await app.session()
    for (const params of [
      { id: '1' },
      { token },
      { token, id: '' },
      { token, all: '0' },
      { token, all: '1' },
    ]) {
      const response = await post(url, params as Record<string, string>)
      expect([response.status, response.body['code']]).toStrictEqual([400, 'missing_parameter'])
      expect(problemFault(response)).toBeUndefined()
    }
  })
})

describe('400 invalid_parameter', () => {
  for (const [body, name] of [
    [{ id: 1, ids: [1] }, 'id'],
    [{ id: 1, all: 1, up_to_id: 1 }, 'id'],
    [{ ids: [1], all: 1, up_to_id: 1 }, 'id'],
    [{ id: 1, up_to_id: 1 }, 'up_to_id'],
    [{ ids: [] }, 'ids'],
    [{ ids: [1, 'x'] }, 'ids'],
    [{ ids: [[1]] }, 'ids'],
    [{ ids: [1, null] }, 'ids'],
    [{ ids: { a: 1 } }, 'ids'],
    [{ ids: Array(501).fill(1) }, 'ids'],
    [{ ids: '1,,2' }, 'ids'],
    [{ id: [1] }, 'id'],
  ] as const) {
    test(JSON.stringify(body).slice(0, 60), async () => {
      const { token, ids } = await sessionWithMail(1)
      const response = await postJson(url, JSON.stringify({ token, ...body }))
      expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
      expect(String(response.body['message']).startsWith(`${name}:`)).toBeTruthy()
      expect(await list(token)).toStrictEqual(ids)
    })
  }

  test('ids given twice', async () => {
    const { token } = await app.session()
    const response = await request(`${url}?token=${token}&ids=1&ids=2`, { method: 'POST' })
    expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
  })
})

describe('401', () => {
  test('an unknown token is refused', async () => {
    const response = await post(url, { token: 'x', id: '1' })
    expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
    expect(problemFault(response)).toBeUndefined()
  })

  test('an expired session is refused', async () => {
    const { token, ids } = await sessionWithMail(1)
    app.moveClock(86_400)
    const response = await post(url, { token, id: ids[0] ?? '' })
    expect([response.status, response.body['code']]).toStrictEqual([401, 'session_expired'])
  })
})

describe('404', () => {
  test('a deleted message is not found', async () => {
    const { token, ids } = await sessionWithMail(1)
    const params = { token, id: ids[0] ?? '' }
    expect((await post(url, params)).status).toBe(200)
    const response = await post(url, params)
    expect([response.status, response.body['code']]).toStrictEqual([404, 'message_not_found'])
    expect(problemFault(response)).toBeUndefined()
  })

  test('of ten concurrent deletions of one message, one succeeds', async () => {
    const { token, ids } = await sessionWithMail(1)
    const requests = Array.from({ length: 10 }, () => post(url, { token, id: ids[0] ?? '' }))
    const statuses = (await Promise.all(requests)).map(({ status }) => status)
    expect(statuses.toSorted()).toStrictEqual([200, ...Array.from({ length: 9 }, () => 404)])
  })
})
