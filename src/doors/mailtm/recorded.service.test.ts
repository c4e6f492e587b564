import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from '../../../test/kit/app/app.ts'
import { sendRecorded } from '../testing/recorded.ts'

// The requests of clients in other languages, written down from their source: only the base URL is another one.

let app: App
beforeAll(async () => {
  app = await startApp({ env: { MAYFLY_DOORS: 'mailtm' } })
})
afterAll(() => app.stop())

const send = (recorded: string) => sendRecorded(app.httpPort, recorded)

/** pymailtm (Python, requests): https://github.com/CarloDePieri/pymailtm */
const PYTHON = `Host: mayfly.test
  User-Agent: python-requests/2.32.3
  Accept-Encoding: gzip, deflate
  accept: application/ld+json
  Connection: keep-alive
  Content-Type: application/json`

test('pymailtm creates an account, waits for a message, reads it and deletes the account', async () => {
  // Without the headers of the others.
  const domains = await send(`
    GET /compat/mailtm/domains HTTP/1.1
    Host: mayfly.test
    User-Agent: python-requests/2.32.3
    Accept-Encoding: gzip, deflate
    Accept: */*
    Connection: keep-alive`)
  const [domain] = domains.body['hydra:member'] as { domain: string }[]
  const address = `python@${domain?.domain}`
  const credentials = `{"address": "${address}", "password": "Ab3dE6"}`
  const created = await send(`
    POST /compat/mailtm/accounts HTTP/1.1
    ${PYTHON}
    Content-Length: LENGTH

    ${credentials}`)
  expect([created.status, created.body['address']]).toStrictEqual([201, address])
  const { body } = await send(`
    POST /compat/mailtm/token HTTP/1.1
    ${PYTHON}
    Content-Length: LENGTH

    ${credentials}`)
  const authorized = `${PYTHON}
    Authorization: Bearer ${String(body['token'])}`
  const messages = async () =>
    (
      await send(`
      GET /compat/mailtm/messages?page=1 HTTP/1.1
      ${authorized}`)
    ).body['hydra:member'] as Record<string, unknown>[]
  expect(await messages()).toStrictEqual([])
  expect(await app.mail(address)).toBe(250)
  const [message] = await messages()
  expect(message).toMatchObject({
    ...{ from: { address: 'ann@sender.test', name: 'Ann Sender' }, to: [{ address }] },
    subject: 'Hello',
    intro: expect.any(String),
  })
  const whole = await send(`
    GET /compat/mailtm/messages/${String(message?.['id'])} HTTP/1.1
    ${authorized}`)
  expect(whole.body).toMatchObject({ text: expect.stringContaining('123456'), html: [] })
  const deleted = await send(`
    DELETE /compat/mailtm/accounts/${String(created.body['id'])} HTTP/1.1
    ${authorized}
    Content-Length: 0`)
  expect(deleted.status).toBe(204)
})

/** mailtm (Go, net/http): https://github.com/felixstrobel/mailtm */
const GO = `Host: mayfly.test
  User-Agent: Go-http-client/1.1
  Accept: application/json
  Accept-Encoding: gzip`

test('mailtm for Go creates an account, lists, reads, marks and deletes a message', async () => {
  const domains = await send(`
    GET /compat/mailtm/domains HTTP/1.1
    ${GO}`)
  const [domain] = domains.body as unknown as { domain: string }[]
  const address = `go@${domain?.domain}`
  const post = (path: string) =>
    send(`
      POST /compat/mailtm${path} HTTP/1.1
      ${GO}
      Content-Length: LENGTH
      Content-Type: application/json

      {"address":"${address}","password":"secret"}`)
  expect((await post('/accounts')).status).toBe(201)
  const { token } = (await post('/token')).body as { token: string }
  const authorized = `${GO}
    Authorization: Bearer ${token}`
  expect(await app.mail(address)).toBe(250)
  const listed = await send(`
    GET /compat/mailtm/messages?page=1 HTTP/1.1
    ${authorized}`)
  const [message] = listed.body as unknown as { id: string; createdAt: string }[]
  expect.assert(message)
  // As time.Time of Go reads it: RFC 3339.
  expect(message.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/)
  const path = `/compat/mailtm/messages/${message.id}`
  const whole = await send(`
    GET ${path} HTTP/1.1
    ${authorized}`)
  expect(whole.body).toMatchObject({ verifications: [], text: expect.any(String), seen: false })
  const patched = await send(`
    PATCH ${path} HTTP/1.1
    ${authorized}
    Content-Length: LENGTH
    Content-Type: application/merge-patch+json

    {"seen":true}`)
  expect([patched.status, patched.body['seen']]).toStrictEqual([200, true])
  const deleted = await send(`
    DELETE ${path} HTTP/1.1
    ${authorized}`)
  expect(deleted.status).toBe(204)
})
