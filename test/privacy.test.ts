import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from './kit/app/app.ts'
import { checkMail, createSession } from './kit/http/api-client.ts'

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
      expect(await app.mail(bob.email)).toBe(250)
      const [{ id = 0 } = {}] = await checkMail(app.url, bob.token)
      const send = async (token: string, messageId: number) => {
        const response = await fetch(`${app.url}${path}token=${token}&id=${messageId}`, { method })
        const body = (await response.json()) as Record<string, unknown>
        return { ...body, request_id: undefined, status: response.status, code: body['code'] }
      }
      const foreign = await send(ann.token, id)
      expect(foreign).toStrictEqual(await send(ann.token, id + 1))
      expect([foreign.status, foreign.code]).toStrictEqual([404, 'message_not_found'])
      expect((await checkMail(app.url, bob.token)).length, 'and it is still there').toBe(1)
    })
  }

  test('a since_id of another mailbox reveals nothing about it', async () => {
    const [ann, bob] = [await app.session(), await app.session()]
    await app.mail(bob.email)
    const [{ id = 0 } = {}] = await checkMail(app.url, bob.token)
    expect(await checkMail(app.url, ann.token, `&since_id=${id - 1}`)).toStrictEqual([])
  })

  for (const [name, query, headers] of [
    ['since_id', (id: number) => `&since_id=${id}`, () => ({})],
    ['Last-Event-ID', () => '', (id: number) => ({ 'last-event-id': String(id) })],
  ] as const) {
    test(`a stream resumed after the ${name} of another mailbox returns only its own mail`, async () => {
      const [ann, bob] = [await app.session(), await app.session()]
      for (const subject of ['first of Bob', 'second of Bob']) {
        expect(await app.mail(bob.email, `Subject: ${subject}\r\n\r\nx\r\n`)).toBe(250)
      }
      const before = (await checkMail(app.url, bob.token)).at(-1)?.id ?? 0
      const url = `${app.url}/api/events?token=${ann.token}${query(before - 1)}`
      const stream = await fetch(url, { headers: headers(before - 1) })
      expect(stream.status).toBe(200)
      expect(await app.mail(bob.email, 'Subject: third of Bob\r\n\r\nx\r\n')).toBe(250)
      expect(await app.mail(ann.email, 'Subject: for Ann\r\n\r\nx\r\n')).toBe(250)
      const [own] = await checkMail(app.url, ann.token)
      const received = await readUntil(stream, 'for Ann')
      expect(received.match(/"subject":"[^"]*"/g)).toStrictEqual(['"subject":"for Ann"'])
      expect(received.match(/^id: \d+$/gm)).toStrictEqual([`id: ${before - 1}`, `id: ${own?.id}`])
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
  expect(statuses.filter((status) => status !== 409)).toStrictEqual([200])
})

describe('an address that is reissued', () => {
  const params = { prefix: 'handed-on', domain_id: '1' }

  test('shows the new owner nothing of the previous one', async () => {
    const previous = await createSession(app.url, params)
    expect(await app.mail(previous.email)).toBe(250)
    app.moveClock(DAY)
    expect(await app.mail(previous.email), 'late mail is refused while it cools down').toBe(550)
    await expect(createSession(app.url, params)).rejects.toThrow(/address_taken/)
    app.moveClock(30 * DAY)
    // The sweep has hardly begun, but the mail of the previous owner must not be accessible.
    const next = await createSession(app.url, params)
    expect(next.email).toBe(previous.email)
    expect(await checkMail(app.url, next.token)).toStrictEqual([])
    expect(await app.mail(next.email, 'Subject: for the next\r\n\r\nx\r\n')).toBe(250)
    const subjects = (await checkMail(app.url, next.token)).map((message) => message.subject)
    expect(subjects).toStrictEqual(['for the next'])
    const old = await fetch(`${app.url}/api/check-mail?token=${previous.token}`)
    expect(old.status).toBe(401)
  })

  test('is empty when its previous owner revives it', async () => {
    const owner = await createSession(app.url, { prefix: 'comes-back', domain_id: '1' })
    await app.mail(owner.email)
    app.moveClock(DAY + 1)
    const token = new URLSearchParams({ token: owner.token })
    const extend = () => fetch(`${app.url}/api/extend-session`, { method: 'POST', body: token })
    expect((await extend()).status).toBe(200)
    expect(await checkMail(app.url, owner.token)).toStrictEqual([])
    expect(await app.mail(owner.email)).toBe(250)
    expect((await checkMail(app.url, owner.token)).length).toBe(1)
  })
})

test('mail is delivered to nobody if the session ends between RCPT and the final dot', async () => {
  const { connectSmtp, stuffed } = await import('./kit/smtp/smtp-client.ts')
  const box = await createSession(app.url)
  const client = await connectSmtp(app.smtpPort)
  for (const line of ['EHLO a.test', 'MAIL FROM:<a@a.test>', `RCPT TO:<${box.email}>`]) {
    expect((await client.command(line)).code).toBe(250)
  }
  expect((await client.command('DATA')).code).toBe(354)
  const body = new URLSearchParams({ token: box.token })
  await fetch(`${app.url}/api/delete-session`, { method: 'POST', body })
  client.write(stuffed('Subject: late\r\n\r\nx\r\n'))
  const reply = await client.readReply()
  expect(reply.text).toMatch(/^550 5\.1\.1 /)
  client.close()
})
