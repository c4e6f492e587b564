import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { address } from '../../../test/kit/store/fixture.ts'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { waitUntil } from '../../../test/kit/wait-until.ts'
import { followLines, forgetAddress, printLines } from './commands.ts'
import { parseLineQuery } from './find-lines.ts'
import { eventHashes, type MailLogEvent, mailLogLine } from './rules.ts'

const KEY = new Uint8Array(32).fill(7)
const ALL = parseLineQuery({}, KEY)

let mail: Awaited<ReturnType<typeof openSqliteTestMail>>
let lines: string[] = []
const print = (line: string) => void lines.push(line)
beforeEach(async () => {
  lines = []
  mail = await openSqliteTestMail({
    mailbox: { maxMessages: 9, maxBytes: 1e6 },
    poolMaxBytes: 1e6,
    ownMaxBytes: 1e6,
    maxMailBytes: 1e6,
  })
})
afterEach(() => mail.close())

const ACCEPTED: MailLogEvent = {
  at: new Date('2026-03-01T12:00:00Z'),
  result: 'accepted',
  reason: '',
  command: 'DATA',
  id: 'mi3t6c2v0k9x',
  ip: '192.0.2.1',
  helo: 'mx.sender.test',
  sender: 'ann@sender.test',
  recipients: [{ address: 'lauren@box.test' }],
  size: 4_096,
  tls: 'TLSv1.3 with TLS_AES_256_GCM_SHA384',
  ms: 12,
}
const REFUSED: MailLogEvent = {
  ...ACCEPTED,
  result: 'refused',
  reason: '550 5.1.1 No such mailbox',
  command: 'RCPT',
  id: undefined,
}

const add = (...events: MailLogEvent[]) =>
  mail.store.addLogLines(
    events.map((event) => ({
      line: mailLogLine(event, 'masked'),
      hashes: eventHashes(KEY, event),
    })),
  )

describe('mail log', () => {
  test('prints lines in 100 columns, newest first', async () => {
    const account = 'joe.miller@gmail.com'
    const left = {
      ...REFUSED,
      ip: undefined,
      account,
      sender: undefined,
      result: 'ignored',
    } as const
    await add(ACCEPTED, REFUSED, { ...left, command: 'FETCH', reason: 'for no live alias' })
    await add({ ...REFUSED, command: '', recipients: [], reason: 'only counted', count: 1_234 })
    await printLines(mail.other, ALL, { limit: 10 }, print)
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100)
    expect(lines[0]).toMatch(/^TIME \(UTC\) +RESULT +FROM +TO +CLIENT +DETAILS$/)
    const text = lines.join(' ')
    const parts = ['1,234', 'j…r@gmail', 'FETCH:', '550', 'mi3t6c2v0k9x', '4 kB', 'TLS', '12 ms']
    for (const part of parts) expect(text).toContain(part)
    expect(text).not.toMatch(/lauren|ann@/)
  })

  test('names the next page', async () => {
    await add(ACCEPTED, REFUSED, ACCEPTED)
    await printLines(mail.other, ALL, { limit: 2, json: true }, print)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject([{ number: 3 }, { number: 2 }])
    await printLines(mail.other, ALL, { limit: 2 }, print)
    expect(lines.at(-1)).toBe('Next page: --before 2')
    await printLines(mail.other, ALL, { limit: 2, before: 2 }, print)
    expect(lines.at(-1)).not.toContain('Next page')
    await printLines(mail.other, parseLineQuery({ id: 'x' }, KEY), { limit: 2 }, print)
    expect(lines.at(-1)).toBe('No such lines.')
  })

  test('as JSON has every field', async () => {
    await add(ACCEPTED)
    await printLines(mail.other, ALL, { limit: 2, json: true }, print)
    expect(JSON.parse(lines.join(''))).toEqual([
      {
        number: 1,
        logged_at: '2026-03-01 12:00:00',
        logged_at_iso: '2026-03-01T12:00:00Z',
        result: 'accepted',
        reason: '',
        command: 'DATA',
        id: 'mi3t6c2v0k9x',
        client_ip: '192.0.2.1',
        account: '',
        helo: 'mx.sender.test',
        sender: 'sender.test',
        recipients: 'l…n@box.test',
        size: 4_096,
        tls: 'TLSv1.3 with TLS_AES_256_GCM_SHA384',
        ms: 12,
        count: 1,
      },
    ])
  })

  for (const [name, query] of [
    ['to', { to: 'not a domain' }],
    ['from', { from: '' }],
    ['ip', { ip: '192.0.2.0/24' }],
    ['result', { result: 'lost' }],
  ] as const) {
    test(`${name} is checked`, () =>
      expect(() => parseLineQuery(query, KEY)).toThrow(new RegExp(`^${name}: must be `)))
  }

  test('--follow prints the last lines, then each new one once', async () => {
    await add(ACCEPTED, REFUSED, { ...ACCEPTED, id: 'second' })
    const stop = new AbortController()
    const filter = parseLineQuery({ to: 'lauren@box.test', result: 'accepted' }, KEY)
    const output = { print, pollMs: 1, signal: stop.signal }
    const following = followLines(mail.other, filter, { limit: 1, json: true }, output)
    await waitUntil(() => lines.length === 1)
    await add({ ...ACCEPTED, id: 'third' }, REFUSED)
    await add({ ...ACCEPTED, id: 'fourth' })
    await waitUntil(() => lines.length === 3)
    stop.abort()
    await following
    const ids = lines.map((line) => JSON.parse(line).id)
    expect(ids).toEqual(['second', 'third', 'fourth'])
  })

  test('--follow skips no line, however many are added between two looks', async () => {
    const LINES = 20_500
    const stop = new AbortController()
    const added = Promise.withResolvers<void>()
    const looks = [async () => 0, () => added.promise.then(mail.other.lastLogLine)]
    const store = {
      ...mail.other,
      lastLogLine: () => (looks.shift() ?? mail.other.lastLogLine)(),
    }
    const output = { print, pollMs: 1, signal: stop.signal }
    const following = followLines(store, ALL, { limit: 1, json: true }, output)
    const batch = Array.from({ length: 500 }, () => REFUSED)
    for (let at = 0; at < LINES; at += batch.length) await add(...batch)
    added.resolve()
    await waitUntil(() => lines.length === LINES)
    stop.abort()
    await following
    const numbers = lines.map((line) => JSON.parse(line).number)
    expect(numbers).toEqual(Array.from({ length: LINES }, (_, at) => at + 1))
  })
})

test('an address is forgotten, in as many steps as it takes', async () => {
  for (let at = 0; at < 3; at += 1) await add(...Array.from({ length: 500 }, () => ACCEPTED))
  await add({ ...REFUSED, recipients: [{ address: 'other@box.test' }] })
  const deps = { store: mail.store, key: KEY, now: () => ACCEPTED.at }
  expect(await forgetAddress(deps, address('lauren@box.test'))).toBe(1_500)
  expect(await forgetAddress(deps, address('lauren@box.test'))).toBe(0)
  await printLines(mail.other, ALL, { limit: 9, json: true }, print)
  expect(JSON.parse(lines.join(''))).toHaveLength(1)
})
