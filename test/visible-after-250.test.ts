import { Agent, get } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, startApp } from './kit/app/app.ts'
import type { MessageSummary } from './kit/http/api-client.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
// A round on PostgreSQL takes three to four times as long.
const LONG_ROUNDS = process.env['MAYFLY_TEST_ENGINE'] === 'postgres' ? 2_500 : 10_000
const ROUNDS = LONG ? LONG_ROUNDS : 60
const SENDERS = 20
const BOXES = LONG ? 20 : 1

let app: App
beforeAll(async () => {
  const env = {
    MAYFLY_HTTP_THREADS: '3',
    MAYFLY_SMTP_THREADS: '2',
    MAYFLY_SESSION_MAX_MESSAGES: '100000',
    MAYFLY_SESSION_MAX_BYTES: '1GB',
  }
  app = await startApp({ env })
})
afterAll(() => app.stop())

test('a mail is in the first check-mail after its 250, on every HTTP thread, whatever is cached', async () => {
  const box = await app.session()
  // Persistent connections, enough of them that every thread has some: the kernel distributes them.
  const agents = Array.from({ length: 12 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  const client = await connectSmtp(app.smtpPort)
  // Each connection in turn requests the default list, a short one, and the list with If-None-Match.
  const tags = new Map<Agent, string>()
  const poll = async (agent: Agent, turn: number) => {
    const etag = turn % 3 === 2 ? tags.get(agent) : undefined
    const query = turn % 3 === 1 ? '&limit=5' : ''
    const result = await checked(app.url, box.token, { agent, query, etag })
    tags.set(agent, result.etag)
    return result.status === 304 ? 'unchanged' : result.messages[0]?.subject
  }
  await Promise.all(agents.map((agent) => poll(agent, 0)))

  let missed = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    const subject = `round ${round}`
    const { code } = await client.send({ to: [box.email], raw: `Subject: ${subject}\r\n\r\nx\r\n` })
    expect(code).toBe(250)
    // 12 is a multiple of 3: without the second term each connection would send one kind of request only.
    const turn = round + Math.trunc(round / 12)
    const pollers = [agents[round % 12], agents[(round + 5) % 12]]
    const seen = await Promise.all(pollers.map((agent, at) => agent && poll(agent, turn + at)))
    missed += seen.filter((first) => first !== subject).length
  }
  client.close()
  for (const agent of agents) agent.destroy()
  expect(missed, `${missed} of ${2 * ROUNDS} polls came without the mail`).toBe(0)
})

// Fewer than the limit of a list: since_id skips mails beyond it.
const MAILS_EACH = 24

test.for(Array.from({ length: BOXES }, (_, box) => box))(
  'since_id never skips a mail, with many senders and a clock that is set back (%i)',
  async () => {
    const box = await app.session()
    const expected = new Set<string>()
    const senders = Array.from({ length: SENDERS }, async (_, sender) => {
      const client = await connectSmtp(app.smtpPort)
      for (let count = 0; count < MAILS_EACH; count += 1) {
        const subject = `${sender}/${count}`
        const raw = `Subject: ${subject}\r\n\r\nx\r\n`
        expect((await client.send({ to: [box.email], raw })).code).toBe(250)
        expected.add(subject)
        if (sender === 0 && count % 10 === 5) app.moveClock(count % 20 === 5 ? -600 : 300)
      }
      client.close()
    })
    let sending = true
    const all = Promise.all(senders).then(() => {
      sending = false
    })

    const seen: string[] = []
    let since = 0
    for (let last = false; !last; ) {
      last = !sending
      const query = `&since_id=${since}&limit=500`
      const messages = await listed(app.url, box.token, { query })
      since = messages[0]?.id ?? since
      seen.push(...messages.map((message) => message.subject))
    }
    await all
    expect(new Set(seen).size, 'none came twice').toBe(seen.length)
    expect(new Set(seen)).toStrictEqual(expected)
  },
)

interface Checked {
  status: number | undefined
  etag: string
  messages: MessageSummary[]
}

interface Poll {
  agent?: Agent
  query: string
  etag?: string | undefined
}

async function listed(url: string, token: string, poll: Poll): Promise<MessageSummary[]> {
  return (await checked(url, token, poll)).messages
}

function checked(url: string, token: string, { agent, query, etag }: Poll): Promise<Checked> {
  const whole = `${url}/api/check-mail?token=${token}${query}`
  const headers = etag === undefined ? {} : { 'if-none-match': etag }
  return new Promise((resolve, reject) => {
    get(whole, agent ? { agent, headers } : { headers }, async (response) => {
      const parts: Buffer[] = []
      for await (const part of response) parts.push(part)
      const status = response.statusCode
      const text = Buffer.concat(parts).toString()
      const body = JSON.parse(status === 304 ? '{"messages":[]}' : text) as Partial<Checked>
      if (body.messages)
        resolve({ status, etag: response.headers.etag ?? '', messages: body.messages })
      else reject(new Error(text))
    }).on('error', reject)
  })
}
