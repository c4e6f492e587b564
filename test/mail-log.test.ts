import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openMailStoreForCli } from '../src/runtime/stores.ts'
import { type App, startApp } from './kit/app/app.ts'
import { runMayfly } from './kit/app/cli.ts'
import { request } from './kit/http/http-client.ts'
import { connectSmtp, readGreeting } from './kit/smtp/smtp-client.ts'
import { runSql } from './kit/store/sql.ts'
import { waitUntil } from './kit/wait-until.ts'

// The mail log of a service that runs: real SMTP in, and what the operator sees.

const ADMIN_TOKEN = 'the-admin-token-of-the-mail-log'
const BAD_CLIENT = '127.0.0.2'
const FLOODER = '127.0.0.4'
const CANARY = 'canary-of-the-body'
const RAW = `From: <${CANARY}@sender.test>\r\nSubject: ${CANARY}\r\n\r\n${CANARY}\r\n`

let app: App
beforeAll(async () => {
  app = await startApp({
    env: {
      MAYFLY_ADMIN_TOKEN: ADMIN_TOKEN,
      MAYFLY_DOMAINS: 'box.test,pool.test,*.wild.test',
      MAYFLY_SESSION_MAX_MESSAGES: '4',
      MAYFLY_MAX_MESSAGE: '10KB',
    },
  })
  const store = await openMailStoreForCli(app.config)
  const blocks = { note: '', expiresAt: undefined, now: app.now() }
  await store.addBlocks({ ...blocks, entries: [BAD_CLIENT, 'spam.test'] as never[] })
  await store.close()
  await waitUntil(async () => (await readGreeting(app.smtpPort, BAD_CLIENT)).startsWith('554'))
})
afterAll(() => app.stop())

interface Line {
  result: string
  reason: string
  command: string
  id: string
  sender: string
  recipients: string
  size: number
  helo: string
  client_ip: string
  count: number
}

async function log(query: Record<string, string> = {}): Promise<Line[]> {
  const { status, body } = await request(
    `${app.url}/admin/api/mail-log?${new URLSearchParams({ limit: '1000', ...query })}`,
    { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } },
  )
  expect(status, JSON.stringify(body)).toBe(200)
  return body['lines'] as Line[]
}

/** They are written within about a second. */
async function logged(query: Record<string, string>, count = 1): Promise<Line[]> {
  await waitUntil(async () => (await log(query)).length >= count)
  return await log(query)
}

async function send(to: string[], { from = 'ann@sender.test', raw = RAW, ip = '127.0.0.1' } = {}) {
  const client = await connectSmtp(app.smtpPort, '127.0.0.1', { localAddress: ip })
  const { text } = await client.send({ to, raw, from })
  client.close()
  return text
}

// At the same time: lines are written only within about a second.
test.concurrent('an accepted mail is found by its whole address, although the line is masked', async () => {
  const { email, token } = await app.session({ prefix: 'lauren.smith', domain_id: '1' })
  const [, id = ''] = /^250 2\.0\.0 Message accepted as (\w+)/.exec(await send([email])) ?? []
  const [line, ...more] = await logged({ to: email })
  expect(more).toEqual([])
  expect(line).toMatchObject({
    id,
    result: 'accepted',
    command: 'DATA',
    client_ip: '127.0.0.1',
    helo: 'sender.test',
    sender: 'sender.test',
    recipients: 'l…h@box.test',
    size: RAW.length,
  })
  expect(await log({ from: 'ann@sender.test', to: 'box.test', id })).toEqual([line])
  expect(await log({ to: 'lauren.smit@box.test' })).toEqual([])
  const rows = JSON.stringify([
    await runSql(app, 'mail', 'select * from mail_log'),
    await runSql(app, 'mail', 'select * from mail_log_address'),
  ])
  for (const secret of [CANARY, email, 'lauren', 'ann@', token]) expect(rows).not.toContain(secret)
})

describe.concurrent('each refusal is a line:', () => {
  const refused = async (query: Record<string, string>) => {
    const [line] = await logged(query)
    return [line?.command, line?.result, line?.reason.slice(0, 9)].join(' ')
  }

  test('an unknown recipient, and one that is not ours', async () => {
    await send(['nobody@box.test', 'someone@foreign.test'])
    expect(await refused({ to: 'nobody@box.test' })).toBe('RCPT refused 550 5.1.1')
    expect(await refused({ to: 'foreign.test' })).toBe('RCPT refused 550 5.7.1')
  })

  test('a label of a wildcard domain, which is hidden', async () => {
    await send(['www.secret@www.wild.test'])
    const [line] = await logged({ to: 'www.secret@www.wild.test' })
    expect(line?.recipients).toBe('w…t@….wild.test')
    expect(await log({ to: '*.wild.test' })).toEqual([line])
  })

  test('a full mailbox', async () => {
    const { email } = await app.session({ prefix: 'nearly.full', domain_id: '1' })
    for (let mail = 0; mail < 4; mail += 1) expect(await send([email])).toMatch(/^250 /)
    expect(await send([email])).toMatch(/^452 /)
    const [line] = await logged({ to: email, result: 'deferred' })
    expect(line).toMatchObject({ command: 'RCPT', reason: '452 4.2.2 Mailbox full' })
  })

  test('a blocked sender, and a mail that is too big', async () => {
    await send(['abuse@box.test'], { from: 'x@spam.test' })
    await send(['abuse@box.test'], { from: 'x@big.test', raw: 'x'.repeat(11_000) })
    expect(await refused({ from: 'spam.test' })).toBe('MAIL refused 550 5.7.1')
    expect(await refused({ from: 'x@big.test' })).toBe('DATA refused 552 5.3.4')
  })

  test('a blocked client', async () => {
    expect(await refused({ ip: BAD_CLIENT })).toBe('CONNECT refused 554 5.7.1')
  })
})

test('a flood is bounded, and everything is counted', async () => {
  const REFUSED = 15
  const SESSIONS = 20
  for (let session = 0; session < SESSIONS; session += 1) {
    const client = await connectSmtp(app.smtpPort, '127.0.0.1', { localAddress: FLOODER })
    await client.command('EHLO flood\u202e.test')
    await client.command('MAIL FROM:<>')
    for (let at = 0; at < REFUSED; at += 1) await client.command('RCPT TO:<nobody@box.test>')
    client.close()
  }
  const sum = async () => (await log({ ip: FLOODER })).reduce((all, { count }) => all + count, 0)
  await waitUntil(async () => (await sum()) === SESSIONS * REFUSED)
  const lines = await log({ ip: FLOODER })
  expect(lines.length).toBeLessThan(SESSIONS * REFUSED)
  expect(lines.some(({ count }) => count > 1)).toBe(true)
  expect(JSON.stringify(lines)).not.toContain('\u202e')
})

test('commands show it, and session end --forget deletes it', async () => {
  const { email } = await app.session({ prefix: 'forgotten', domain_id: '1' })
  await send([email])
  await logged({ to: email })
  // The other engine is opened in the same way as by the other commands.
  if (app.config.store !== 'sqlite:') return
  const shown = await runMayfly(app.folder, 'mail', 'log', '--to', email, '--json')
  expect(JSON.parse(shown.stdout)).toMatchObject([
    { result: 'accepted', recipients: 'f…n@box.test' },
  ])
  const { stdout } = await runMayfly(app.folder, 'session', 'end', email, '--forget')
  expect(stdout).toContain(`Deleted 1 line of the mail log about ${email}.`)
  expect(await log({ to: email })).toEqual([])
})

test('a log that cannot be written changes no reply', async () => {
  await runSql(app, 'mail', 'alter table mail_log rename to lost_log')
  const replies = await Promise.all([
    send(['abuse@box.test']),
    send(['nobody@box.test']),
    send(['postmaster@box.test']),
  ])
  expect(replies.map((text) => text.slice(0, 3))).toEqual(['250', '550', '250'])
  const dropped = async () => {
    const { text } = await request(`${app.url}/metrics`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    })
    return Number(/^mayfly_mail_log_lines_total\{outcome="dropped"\} (\d+)/m.exec(text)?.[1])
  }
  await waitUntil(async () => (await dropped()) >= 3)
  expect(await send(['abuse@box.test'])).toMatch(/^250 /)
  await runSql(app, 'mail', 'alter table lost_log rename to mail_log')
  await send(['abuse@box.test'], { from: 'after@sender.test' })
  await logged({ from: 'after@sender.test' })
})
