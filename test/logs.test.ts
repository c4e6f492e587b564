import { readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { afterAll, expect, test } from 'vitest'
import { freeServicePorts, type ServiceProcess, spawnService } from './kit/app/service-process.ts'
import { checkMail, createSession } from './kit/http/api-client.ts'
import { post, request, sendRaw } from './kit/http/http-client.ts'
import { connectSmtp } from './kit/smtp/smtp-client.ts'
import { tempFolder } from './kit/store/stores.ts'

const ADMIN = 'canary-admin'
const FORGED = '{"level":"error","msg":"canary-forged"}'
/** Characters that could fake a log line or mislead a person reading it. */
const CONTROL_CHARACTERS = ['\r', '\n', '\u001b[2J', '\u2028', '\u2029', '\u0085', '\u202e', '\0']

const folder = tempFolder()
const running: ServiceProcess[] = []
afterAll(async () => {
  for (const served of running) if (served.child.exitCode === null) await served.kill('SIGKILL')
  folder.remove()
})

async function serve(name: string, options: { under?: string[] } = {}): Promise<ServiceProcess> {
  const env = { MAYFLY_LOG_LEVEL: 'debug', MAYFLY_ADMIN_TOKEN: ADMIN }
  const place = { folder: `${folder.path}/${name}`, ports: await freeServicePorts() }
  const served = await spawnService({ ...place, env, ...options })
  running.push(served)
  return served
}

test('whatever clients send, the log has one JSON object per line and no secrets', async () => {
  const errors = `${folder.path}/stderr`
  const served = await serve('talkative', { under: ['sh', '-c', 'exec "$@" 2>"$0"', errors] })
  const box = await createSession(served.url, { prefix: 'canary-owner', domain_id: '1' })
  await useMail(served, box.email)
  const [{ id = 0 } = {}] = await checkMail(served.url, box.token)
  expect(id).toBeGreaterThan(0)
  for (const token of [box.token, 'canary-token']) await useEveryEndpoint(served.url, token, id)
  for (const line of CONTROL_CHARACTERS) await sendInvalid(served, line)

  const end = await createSession(served.url, { prefix: 'canary-last', domain_id: '1' })
  breakStore(`${folder.path}/talkative/mail.db`)
  const query = `token=${end.token}&id=${id}&t=canary-query`
  expect((await request(`${served.url}/api/read-mail?${query}`)).status).toBe(500)
  expect(await sent(served, end.email)).toMatch(/^451 /)
  expect(await served.kill('SIGTERM')).toBe(0)

  expect(readFileSync(errors, 'utf8')).toBe('')
  const lines = served.output().split('\n').slice(0, -1)
  const objects = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  const messages = new Set(objects.map((line) => line['msg']))
  expect(messages).toContain('started')
  expect(messages).toContain('message received')
  expect(messages).toContain('mail accepted')
  expect(messages).toContain('request failed')
  expect(messages).toContain('internal error, replied 451')
  for (const line of objects) {
    expect(Object.keys(line)).toEqual(expect.arrayContaining(['level', 'time', 'thread', 'msg']))
  }
  for (const secret of [box.token, end.token, 'canary', 'CANARY']) {
    const leaked = lines.filter((line) => line.includes(secret))
    expect(leaked, `the log tells ${secret}`).toStrictEqual([])
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the test searches for control characters
  expect(lines.join('')).not.toMatch(/[\0-\x1f\x7f-\x9f\u2028-\u202e]/)
})

test('a log on a full disk does not stop the service', async () => {
  const served = await serve('mute', { under: ['sh', '-c', 'exec "$@" >/dev/full', 'sh'] })
  const box = await createSession(served.url)
  expect(await sent(served, box.email)).toMatch(/^250 /)
  expect((await checkMail(served.url, box.token)).length).toBe(1)
  expect(await served.kill('SIGTERM')).toBe(0)
})

async function sent({ smtpPort }: ServiceProcess, to: string): Promise<string> {
  const client = await connectSmtp(smtpPort)
  const raw = 'From: <canary-from@sender.test>\r\nSubject: canary-subject\r\n\r\ncanary-body\r\n'
  const { text } = await client.send({ to: [to], raw, from: 'canary-envelope@sender.test' })
  client.close()
  return text
}

async function useMail(served: ServiceProcess, email: string): Promise<void> {
  expect(await sent(served, email)).toMatch(/^250 /)
  for (const to of ['canary-pool@pool.test', 'postmaster@box.test']) {
    expect(await sent(served, to)).toMatch(/^250 /)
  }
  for (const to of ['canary-nobody@box.test', 'canary-relay@foreign.test', '"canary q"@box.test']) {
    expect(await sent(served, to)).toMatch(/^550 /)
  }
}

/** Calls each endpoint with the canary as a token wherever one is accepted. Ends the session. */
async function useEveryEndpoint(url: string, token: string, id: number): Promise<void> {
  const bearer = { headers: { authorization: `Bearer ${token}`, apikey: token } }
  const query = `token=${token}&id=${id}&index=0&headers=1&t=canary-query`
  for (const path of ['check-mail', 'read-mail', 'raw-mail', 'attachment', 'none']) {
    await request(`${url}/api/${path}?${query}`)
    await request(`${url}/api/${path}?id=${id}&index=0`, bearer)
  }
  await readEvents(`${url}/api/events?${query}`)
  const pages = ['/api/domains', '/livez', '/readyz', '/metrics', '/docs', '/openapi.json', '/']
  for (const path of pages) {
    await request(`${url}${path}`, bearer)
    await request(`${url}${path}?${query}`, { headers: { authorization: `Bearer ${ADMIN}` } })
  }
  for (const path of ['extend-session', 'delete-mail', 'delete-session']) {
    for (const way of ['json', 'multipart', 'query', 'form'] as const) {
      await post(`${url}/api/${path}`, { token, id: String(id) }, way)
    }
  }
}

async function readEvents(url: string): Promise<void> {
  const leave = new AbortController()
  const response = await fetch(url, { signal: leave.signal })
  leave.abort()
  await response.body?.cancel().catch(() => {})
}

async function sendInvalid(
  { url, httpPort, smtpPort }: ServiceProcess,
  line: string,
): Promise<void> {
  const bad = `canary${line}${FORGED}`
  await post(`${url}/api/create-session`, { prefix: bad, domain_id: bad })
  await request(`${url}/api/check-mail?token=${encodeURIComponent(bad)}`)
  await request(`${url}/${encodeURIComponent(bad)}?${encodeURIComponent(bad)}`)
  const head = 'GET /api/domains HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n'
  await sendRaw(httpPort, `${head}User-Agent: ${bad}\r\nX-Request-Id: ${bad}\r\n\r\n`)
  await sendRaw(httpPort, `${bad}\r\n\r\n`)
  const dialogues = [
    [`EHLO ${bad}`],
    ['EHLO mx.sender.test', `MAIL FROM:<${bad}@sender.test> SMTPUTF8`],
    ['EHLO mx.sender.test', 'MAIL FROM:<> SMTPUTF8', `RCPT TO:<${bad}@box.test>`],
    [
      'EHLO mx.sender.test',
      'MAIL FROM:<> SMTPUTF8',
      `RCPT TO:<${bad}@pool.test>`,
      'DATA',
      'canary',
    ],
    [bad],
  ]
  for (const dialogue of dialogues)
    await sendRaw(smtpPort, `${[...dialogue, 'QUIT'].join('\r\n')}\r\n`)
}

/** Simulates a damaged disk: every read and write of the store fails from now on. */
function breakStore(file: string): void {
  const db = new Database(file)
  db.exec('alter table message rename to canary_message')
  db.close()
}
