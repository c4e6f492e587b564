import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { checkMail, createSession } from './support/api-client.ts'
import { type App, startApp } from './support/app.ts'

const DAY = 86_400

let app: App
beforeAll(async () => {
  app = await startApp({ env: { MAYFLY_HTTP_THREADS: '2' } })
})
afterAll(() => app.stop())

describe('the id of a message in another mailbox is treated as unknown', () => {
  for (const [method, path] of [
    ['GET', '/api/read-mail?'],
    ['GET', '/api/raw-mail?'],
    ['GET', '/api/attachment?index=0&'],
    ['POST', '/api/delete-mail?'],
  ] as const) {
    test(`${method} ${path}`, async () => {
      const [ann, bob] = [await app.session(), await app.session()]
      assert.equal(await app.mail(bob.email), 250)
      const [{ id = 0 } = {}] = await checkMail(app.url, bob.token)
      const send = async (token: string, messageId: number) => {
        const response = await fetch(`${app.url}${path}token=${token}&id=${messageId}`, { method })
        const body = (await response.json()) as Record<string, unknown>
        return { ...body, request_id: undefined, status: response.status, code: body['code'] }
      }
      const foreign = await send(ann.token, id)
      assert.deepEqual(foreign, await send(ann.token, id + 1))
      assert.deepEqual([foreign.status, foreign.code], [404, 'message_not_found'])
      assert.equal((await checkMail(app.url, bob.token)).length, 1, 'and it is still there')
    })
  }

  test('a since_id of another mailbox reveals nothing about it', async () => {
    const [ann, bob] = [await app.session(), await app.session()]
    await app.mail(bob.email)
    const [{ id = 0 } = {}] = await checkMail(app.url, bob.token)
    assert.deepEqual(await checkMail(app.url, ann.token, `&since_id=${id - 1}`), [])
  })

  for (const [name, query, headers] of [
    ['since_id', (id: number) => `&since_id=${id}`, () => ({})],
    ['Last-Event-ID', () => '', (id: number) => ({ 'last-event-id': String(id) })],
  ] as const) {
    test(`a stream resumed after the ${name} of another mailbox returns only its own mail`, async () => {
      const [ann, bob] = [await app.session(), await app.session()]
      for (const subject of ['first of Bob', 'second of Bob']) {
        assert.equal(await app.mail(bob.email, `Subject: ${subject}\r\n\r\nx\r\n`), 250)
      }
      const before = (await checkMail(app.url, bob.token)).at(-1)?.id ?? 0
      const url = `${app.url}/api/events?token=${ann.token}${query(before - 1)}`
      const stream = await fetch(url, { headers: headers(before - 1) })
      assert.equal(stream.status, 200)
      assert.equal(await app.mail(bob.email, 'Subject: third of Bob\r\n\r\nx\r\n'), 250)
      assert.equal(await app.mail(ann.email, 'Subject: for Ann\r\n\r\nx\r\n'), 250)
      const [own] = await checkMail(app.url, ann.token)
      const received = await readUntil(stream, 'for Ann')
      assert.deepEqual(received.match(/"subject":"[^"]*"/g), ['"subject":"for Ann"'])
      assert.deepEqual(received.match(/^id: \d+$/gm), [`id: ${before - 1}`, `id: ${own?.id}`])
    })
  }
})

/** The content of a stream once it contains this text. */
async function readUntil(stream: Response, words: string): Promise<string> {
  let received = ''
  for await (const part of stream.body ?? []) {
    received += Buffer.from(part).toString()
    if (received.includes(words)) break
  }
  return received
}

test('of 200 concurrent create-session requests for one address, one succeeds', async () => {
  const requests = Array.from({ length: 200 }, () =>
    fetch(`${app.url}/api/create-session`, {
      method: 'POST',
      body: new URLSearchParams({ prefix: 'Race', domain_id: '1' }),
    }),
  )
  const statuses = (await Promise.all(requests)).map((response) => response.status)
  assert.deepEqual(
    statuses.filter((status) => status !== 409),
    [200],
  )
})

describe('an address that is reissued', () => {
  const params = { prefix: 'handed-on', domain_id: '1' }

  test('shows the new owner nothing of the previous one', async () => {
    const previous = await createSession(app.url, params)
    assert.equal(await app.mail(previous.email), 250)
    app.moveClock(DAY)
    assert.equal(await app.mail(previous.email), 550, 'late mail is refused while it cools down')
    await assert.rejects(createSession(app.url, params), /address_taken/)
    app.moveClock(30 * DAY)
    // The sweep has hardly begun, but the mail of the previous owner must not be accessible.
    const next = await createSession(app.url, params)
    assert.equal(next.email, previous.email)
    assert.deepEqual(await checkMail(app.url, next.token), [])
    assert.equal(await app.mail(next.email, 'Subject: for the next\r\n\r\nx\r\n'), 250)
    const subjects = (await checkMail(app.url, next.token)).map((message) => message.subject)
    assert.deepEqual(subjects, ['for the next'])
    const old = await fetch(`${app.url}/api/check-mail?token=${previous.token}`)
    assert.equal(old.status, 401)
  })

  test('is empty when its previous owner revives it', async () => {
    const owner = await createSession(app.url, { prefix: 'comes-back', domain_id: '1' })
    await app.mail(owner.email)
    app.moveClock(DAY + 1)
    const token = new URLSearchParams({ token: owner.token })
    const extend = () => fetch(`${app.url}/api/extend-session`, { method: 'POST', body: token })
    assert.equal((await extend()).status, 200)
    assert.deepEqual(await checkMail(app.url, owner.token), [])
    assert.equal(await app.mail(owner.email), 250)
    assert.equal((await checkMail(app.url, owner.token)).length, 1)
  })
})

test('mail is delivered to nobody if the session ends between RCPT and the final dot', async () => {
  const { connectSmtp, stuffed } = await import('./support/smtp-client.ts')
  const box = await createSession(app.url)
  const client = await connectSmtp(app.smtpPort)
  for (const line of ['EHLO a.test', 'MAIL FROM:<a@a.test>', `RCPT TO:<${box.email}>`]) {
    assert.equal((await client.command(line)).code, 250)
  }
  assert.equal((await client.command('DATA')).code, 354)
  const body = new URLSearchParams({ token: box.token })
  await fetch(`${app.url}/api/delete-session`, { method: 'POST', body })
  client.write(stuffed('Subject: late\r\n\r\nx\r\n'))
  const reply = await client.readReply()
  assert.match(reply.text, /^550 5\.1\.1 /)
  client.close()
})
