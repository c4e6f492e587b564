import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from './kit/app/app.ts'
import { problemFault, request, type TestResponse } from './kit/http/http-client.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { waitUntil } from './kit/wait-until.ts'

const [EVE, BOB] = ['203.0.113.9', '198.51.100.7']
// The highest rate that SMTP accepts from one IP address.
const HOSTILE_PER_SECOND = 8
const ROUNDS = 2

// Limits on HTML do not help here.
const script = new URL('./kit/mail/spinning-child.ts', import.meta.url)
let app: App
beforeAll(async () => {
  app = await startApp({
    env: { MAYFLY_TRUST_PROXY: '127.0.0.1', MAYFLY_SMTP_PROXY_FROM: '127.0.0.1' },
    parsing: { script },
    parseDeadlineMs: 10_000,
  })
})
afterAll(() => app.stop())

const get = (path: string, { ip, token }: { ip: string; token: string }): Promise<TestResponse> =>
  request(`${app.url}${path}`, {
    headers: { 'x-forwarded-for': ip, authorization: `Bearer ${token}` },
  })

const newestOf = async (owner: { ip: string; token: string }) => {
  const { body } = await get('/api/check-mail?limit=1', owner)
  const [message] = body['messages'] as { id: number; code: string | null }[]
  expect.assert(message)
  return message
}

/** Sends hostile mails to many mailboxes of one client and reads them, until aborted. */
async function flood(ended: AbortSignal) {
  const smtp = await connectSmtp(app.smtpPort, '127.0.0.1', { proxyFor: EVE })
  const sessions = await Promise.all(
    [1, 2, 3, 4].map(async () => ({
      ip: EVE,
      ...(await app.session({}, { 'x-forwarded-for': EVE })),
    })),
  )
  const responses: Promise<TestResponse>[] = []
  for (let count = 0; !ended.aborted; count += 1) {
    const owner = sessions[count % sessions.length] ?? { ip: EVE, token: '', email: '' }
    const { code } = await smtp.send({ to: [owner.email], raw: `spin: ${count}\r\n\r\nx\r\n` })
    expect.assert(code === 250)
    const { id } = await newestOf(owner)
    responses.push(get(`/api/read-mail?id=${id}`, owner))
    await pause(1_000 / HOSTILE_PER_SECOND)
  }
  smtp.close()
  return await Promise.all(responses)
}

/** How much longer things take now than on an idle machine. */
function slowness(): number {
  const [startedAt, before] = [performance.now(), process.threadCpuUsage()]
  let usedMs = 0
  while (usedMs < 20) {
    const { user, system } = process.threadCpuUsage(before)
    usedMs = (user + system) / 1_000
  }
  return Math.max(1, (performance.now() - startedAt) / usedMs)
}

test('while one client floods the parser, another reads its mail within 2 s and sees its code', async () => {
  const ended = new AbortController()
  const bob = { ip: BOB, ...(await app.session({}, { 'x-forwarded-for': BOB })) }
  const smtp = await connectSmtp(app.smtpPort, '127.0.0.1', { proxyFor: BOB })
  // Warms up the parser children, as the service does after its start.
  await smtp.send({ to: [bob.email], raw: 'Subject: first\r\n\r\nYour code is 482900\r\n' })
  await waitUntil(async () => (await newestOf(bob)).code !== null)
  const flooding = flood(ended.signal)
  const tookMs: number[] = []
  let slowest = 1
  try {
    await pause(2_000)
    for (let round = 0; round < ROUNDS; round += 1) {
      slowest = Math.max(slowest, slowness())
      const code = String(482_910 + round)
      const raw = `Subject: hi\r\n\r\nYour verification code is ${code}\r\n`
      expect.assert((await smtp.send({ to: [bob.email], raw })).code === 250)
      const { id } = await newestOf(bob)
      const startedAt = performance.now()
      // Every other mail is read; the code of the others is taken from the list.
      if (round % 2 === 0) {
        const read = await get(`/api/read-mail?id=${id}`, bob)
        expect(read.status, read.text).toBe(200)
      } else await waitUntil(async () => (await newestOf(bob)).code === code)
      tookMs.push(Math.round(performance.now() - startedAt))
      await pause(500)
    }
  } finally {
    smtp.close()
    ended.abort()
    await flooding.catch(() => {})
  }
  const responses = await flooding
  expect.assert(
    Math.max(...tookMs) < 2_000 * slowest,
    `took ${tookMs} ms, ${slowest} times as slow`,
  )

  // The flooding client only delays itself: each of its requests is answered, some with a retry.
  const refused = responses.filter(({ status }) => status === 503)
  expect.assert(responses.length > ROUNDS && refused.length > 0, `${responses.length} answers`)
  for (const { status } of responses) expect.assert(status === 200 || status === 503, `${status}`)
  for (const one of refused) {
    expect(one.body['code']).toBe('overloaded')
    expect(problemFault(one)).toBeUndefined()
  }
})
