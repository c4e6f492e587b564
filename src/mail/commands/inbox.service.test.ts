import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { Command } from 'commander'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { parseAddress, parseHost } from '../../base/address.ts'
import { type CliContext, run } from '../../cli/commands.ts'
import { apiCaller } from '../../mcp/commands.ts'
import { EMPTY_MAIL } from '../../shared/mail.ts'
import { OPERATOR, POOL } from '../rules/session.ts'
import { addInboxCommand, watchInbox } from './inbox.ts'
import {
  deleteOperatorMessages,
  type OperatorMail,
  parseSelection,
  watchOperator,
} from './operator-inbox.ts'

const servers: ReturnType<typeof createServer>[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

/** A server that is not Mayfly. */
async function otherServer(type: string, body: string, status = 200): Promise<string> {
  return await serve((_path, response) => {
    response.writeHead(status, { 'content-type': type }).end(body)
  })
}

async function serve(
  respond: (path: string, response: ServerResponse) => unknown,
): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    respond(url.replace(/\?.*/, ''), response)
  })
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

for (const [name, type, body, status] of [
  ['HTML', 'text/html', '<h1>Hello</h1>', 200],
  ['other JSON', 'application/json', '{"id":1}', 200],
  ['JSON that is not an object', 'application/json', 'null', 200],
  ['invalid JSON', 'application/json', '<h1>', 200],
  ['an error without a message', 'application/json', '[]', 500],
] as const) {
  test(`a server that responds with ${name} is not recognized as Mayfly`, async () => {
    const url = await otherServer(type, body, status)
    const printed: string[] = []
    const watching = watchInbox({ url, prefix: undefined, count: 1 }, (line) => printed.push(line))
    await expect(watching).rejects.toThrow(`The server at ${url} does not respond like Mayfly.`)
    expect(printed).toEqual([])
  })
}

// ESC, DEL, and CSI as one character.
const HOSTILE = 'a\u001b[2Jb\u007fc\u009b31md'
const ESCAPED = 'a\\u001b[2Jb\\u007fc\\u009b31md'
const SESSION = { email: HOSTILE, token: 'token', expires_at_iso: '2026-03-01T12:00:00Z' }
const MESSAGE = { id: 1, code: HOSTILE }
for (const [name, session, data, code, refusal] of [
  ['a mail', SESSION, JSON.stringify(MESSAGE), false, undefined],
  ['a code', SESSION, JSON.stringify(MESSAGE), true, undefined],
  ['an invalid event', SESSION, HOSTILE, false, 'does not respond like Mayfly'],
  ['a token', { ...SESSION, token: HOSTILE }, '', false, 'does not respond like Mayfly'],
  ['an expiry', { ...SESSION, expires_at_iso: HOSTILE }, '', false, 'does not respond like Mayfly'],
] as const) {
  test(`${name} of any server is printed without control characters`, async () => {
    const url = await serve((path, response) => {
      if (path === '/api/events') {
        response.setHeader('content-type', 'text/event-stream')
        response.end(`event: message\ndata: ${data}\n\n`)
        return
      }
      response.setHeader('content-type', 'application/json')
      const mail = { subject: HOSTILE, received_at: HOSTILE, body_text: HOSTILE }
      response.end(JSON.stringify(path === '/api/create-session' ? session : { message: mail }))
    })
    const printed: string[] = []
    const onAddress = (address: string) => void printed.push(address)
    const print = (line: string) => void printed.push(line)
    const watching = watchInbox({ url, count: 1, code }, print, { onAddress })
    if (refusal) await expect(watching).rejects.toThrow(refusal)
    else await watching
    const text = printed.join('\n')
    if (session.token === 'token' && session.expires_at_iso === SESSION.expires_at_iso)
      expect(text).toContain(`Address  ${ESCAPED}\n`)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
    expect(text).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f]/)
  })
}

test('a read is repeated if its connection is lost, and an error says which connection was lost', async () => {
  const lost = ['/api/read-mail', '/api/read-mail', '/api/events']
  const url = await serve((path, response) => {
    if (path === lost[0]) {
      lost.shift()
      return response.destroy()
    }
    if (path === '/api/create-session') return response.end(JSON.stringify(SESSION))
    if (path === '/api/events') return response.end('event: message\ndata: {"id":1}\n\n')
    return response.end(JSON.stringify({ message: { subject: 'Here at last' } }))
  })
  const printed: string[] = []
  const watch = () => watchInbox({ url, count: 1 }, (line) => void printed.push(line))
  await watch()
  expect(printed.join('\n')).toContain('Here at last')
  await expect(watch()).rejects.toThrow(`${url} cannot be reached: other side closed`)
})

test('the message of a failed command is printed without control characters', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  const url = await otherServer('text/html', '')
  const context = { version: '1', endpoints: () => ({ url }) } as unknown as CliContext
  expect(await run(['inbox', '--url', `${url}/${HOSTILE}`], context)).toBe(1)
  expect(printed.mock.calls.join()).toContain(`${url}/${ESCAPED} does not respond like Mayfly`)
  printed.mockRestore()
})

test('what a server refuses is told to an agent without control characters', async () => {
  const url = await otherServer('application/json', JSON.stringify({ message: HOSTILE }), 400)
  const call = apiCaller({ url, key: undefined, signal: new AbortController().signal })
  await expect(call('check-mail', {})).rejects.toThrow(ESCAPED)
})

for (const [option, ...value] of [['--from', 'shop.test'], ['--subject', 'x'], ['--code']]) {
  test(`--operator cannot be combined with ${option}`, async () => {
    const mayfly = new Command().exitOverride().configureOutput({ writeErr() {} })
    addInboxCommand(mayfly, {} as CliContext, () => {})
    const args = ['inbox', '--operator', String(option), ...value]
    await expect(mayfly.parseAsync(args, { from: 'user' })).rejects.toThrow(
      `'--operator' cannot be used with option '${option}`,
    )
  })
}

let mail: Awaited<ReturnType<typeof openSqliteTestMail>>
let lines: string[] = []
const print = (line: string) => void lines.push(line)
const unlimited = { count: Number.POSITIVE_INFINITY, wait: false }

beforeEach(async () => {
  mail = await openSqliteTestMail({
    mailbox: { maxMessages: 50, maxBytes: 100_000 },
    poolMaxBytes: 1000,
    ownMaxBytes: 1000,
    maxMailBytes: 1000,
  })
  lines = []
  const name = parseHost('box.test')
  if (!name) throw new Error('a good name')
  await mail.store.addDomain({ name, sessions: true, reader: true, ttlSeconds: undefined })
})
afterEach(() => mail.close())

/** Without MIME parsing. */
function operatorMail(pause = async () => {}): OperatorMail {
  const { store } = mail
  return {
    listMessages: store.listMessages,
    findMessage: store.findMessage,
    waitForNextPoll: pause,
    async parsed(rawId) {
      const raw = await store.readRaw(rawId)
      return { ...EMPTY_MAIL, text: Buffer.from(raw?.bytes ?? []).toString() }
    },
  }
}

async function send(to: string, text: string, subject = 'Hi'): Promise<void> {
  const address = parseAddress(to)
  if (!address) throw new Error('a good address')
  const added = await mail.store.addMail({
    recipients: [{ address, mailbox: to.startsWith('somebody') ? POOL : OPERATOR }],
    envelope: { clientIp: '127.0.0.1', helo: 'x', mailFrom: '', tls: undefined, protocol: 'SMTP' },
    head: { senderName: 'Ann', senderEmail: 'ann@sender.test', subject },
    raw: Buffer.from(text),
    receivedAt: new Date('2026-03-01T12:00:00Z'),
  })
  expect(added.outcome).toBe('stored')
}

test('shows mail for postmaster and abuse only, oldest first', async () => {
  await send('postmaster@box.test', 'first')
  await send('somebody@box.test', 'pool mail')
  await send('abuse@box.test', 'second')
  await watchOperator(operatorMail(), unlimited, print)
  expect(lines).toEqual([
    '',
    expect.stringMatching(/^── 2026-03-01 12:00:00 UTC ─+$/),
    expect.stringMatching(/^Id: {6}\d+$/),
    'From:    Ann <ann@sender.test>',
    'To:      postmaster@box.test',
    'Subject: Hi',
    '',
    'first',
    '',
    expect.stringMatching(/^── /),
    expect.stringMatching(/^Id: {6}\d+$/),
    'From:    Ann <ann@sender.test>',
    'To:      abuse@box.test',
    'Subject: Hi',
    '',
    'second',
  ])
})

test('prints a message if there is no mail', async () => {
  await watchOperator(operatorMail(), unlimited, print)
  expect(lines).toEqual(['No mail for postmaster or abuse.'])
})

test('prints each new mail once and stops after --count', async () => {
  await send('abuse@box.test', 'number 1')
  let polls = 0
  const pause = async () => {
    polls += 1
    if (polls > 1) await send('abuse@box.test', `number ${polls}`)
  }
  await watchOperator(operatorMail(pause), { count: 3, wait: true }, print)
  expect(lines.filter((line) => line.startsWith('number'))).toEqual([
    'number 1',
    'number 2',
    'number 3',
  ])
})

test('control characters in mail are escaped', async () => {
  await send('abuse@box.test', 'a\u001b[2Jb\r\n\u202ec', 'S\u001b]0;x\u0007\nFrom: forged')
  await watchOperator(operatorMail(), unlimited, print)
  const text = lines.join('\n')
  expect(text).toContain('a\\u001b[2Jb\n\\u202ec')
  expect(text).toContain('Subject: S\\u001b]0;x\\u0007\\u000aFrom: forged')
})

test('a long mail is truncated', async () => {
  await send('abuse@box.test', 'x'.repeat(50_000))
  await watchOperator(operatorMail(), unlimited, print)
  expect(lines.at(-2)).toHaveLength(20_000)
  expect(lines.at(-1)).toBe('… and 30000 more characters')
})

const deps = () => ({
  store: { ...mail.store, waitUntilVisible: async () => {} },
  now: () => new Date('2026-03-01T12:00:00Z'),
})

test('--delete removes the message with this id, only from this mailbox', async () => {
  await send('postmaster@box.test', 'first')
  await send('abuse@box.test', 'second')
  await send('somebody@box.test', 'pool mail')
  await watchOperator(operatorMail(), unlimited, print)
  const id = Number(/^Id: +(\d+)$/m.exec(lines.join('\n'))?.[1])
  lines = []
  await deleteOperatorMessages(deps(), id, print)
  expect(lines).toEqual(['Deleted 1 message (5 bytes) for postmaster and abuse.'])
  await expect(deleteOperatorMessages(deps(), id, print)).rejects.toThrow(
    `No message for postmaster or abuse has the id ${id}.`,
  )
  const [poolId = 0] = await mail.store.listMessageIds(POOL)
  await expect(deleteOperatorMessages(deps(), poolId, print)).rejects.toThrow('No message')
  expect(await mail.store.listMessageIds(POOL)).toEqual([poolId])
  expect(await mail.store.listMessageIds(OPERATOR)).toHaveLength(1)
})

test('--delete --all removes all messages, and prints a message if there are none', async () => {
  for (let sent = 0; sent < 3; sent += 1) await send('abuse@box.test', 'x')
  await send('somebody@box.test', 'pool mail')
  await deleteOperatorMessages(deps(), 'all', print)
  await deleteOperatorMessages(deps(), 'all', print)
  expect(lines).toEqual([
    'Deleted 3 messages (3 bytes) for postmaster and abuse.',
    'No mail for postmaster or abuse.',
  ])
  expect(await mail.store.listMessageIds(POOL)).toHaveLength(1)
})

test('--delete takes either an id or --all', () => {
  expect(parseSelection({ delete: '123' })).toBe(123)
  expect(parseSelection({ delete: true, all: true })).toBe('all')
  for (const [options, message] of [
    [{ delete: true }, '--delete: requires a message id, or --all for all messages.'],
    [{ delete: '123', all: true }, '--all: use either --delete ID or --delete --all.'],
    [{ delete: 'all' }, '--delete: "all" is not a message id.'],
    [{ delete: '0' }, '--delete: "0" is not a message id.'],
    [{ delete: '-1' }, '--delete: "-1" is not a message id.'],
    [{ delete: '1e3' }, '--delete: "1e3" is not a message id.'],
  ] as const) {
    expect(() => parseSelection(options)).toThrow(message)
  }
})
