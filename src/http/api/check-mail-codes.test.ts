import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'vitest'
import { ask, post } from '../../../test/ask.ts'
import { type Door, openDoor } from '../../../test/http-server.ts'
import { Problem } from '../../core/problem.ts'
import { heldReader, IMPATIENT, PATIENT } from '../../service/testing/codes.ts'

let door: Door
afterEach(() => door.stop())

/** A door with a session whose mails are read as the test says. */
async function opened(options: Parameters<typeof openDoor>[0]) {
  door = await openDoor(options)
  const made = await post(`${door.url}/api/create-session`, {})
  const { email, token } = made.body as { email: string; token: string }
  return {
    send: (body: string) => door.mail(email, `Subject: s\r\n\r\n${body}`),
    check: (more = '', headers: Record<string, string> = {}) =>
      ask(`${door.url}/api/check-mail?token=${token}${more}`, { headers }),
  }
}

type Asked = Awaited<ReturnType<typeof ask>>
const codesIn = ({ body }: Asked) =>
  (body['messages'] as { code: string | null }[]).map(({ code }) => code)
const tagOf = ({ headers }: Asked) => headers.get('etag') ?? ''

describe('200', () => {
  test('the first list has the codes that are found while it waits a little', async () => {
    const { send, check } = await opened({ parse: heldReader().parse, patienceMs: PATIENT })
    await send('111111')
    await send('')
    assert.deepEqual(codesIn(await check()), [null, '111111'])
  })

  test('its tag and what is kept of it are of the list with the codes', async () => {
    const { send, check } = await opened({ parse: heldReader().parse, patienceMs: PATIENT })
    await send('111111')
    const first = await check()
    assert.equal((await check('', { 'if-none-match': tagOf(first) })).status, 304)
    assert.equal(tagOf(await check()), tagOf(first))
  })

  test('a code that takes longer changes the tag and is in the next list', async () => {
    const reader = heldReader()
    const { send, check } = await opened({ parse: reader.parse, patienceMs: IMPATIENT })
    await send('111111')
    reader.hold()
    const first = await check()
    assert.deepEqual(codesIn(first), [null])
    assert.deepEqual(codesIn(await check()), [null], 'kept, and nobody waits again')
    const waiting = check('&wait=55', { 'if-none-match': tagOf(first) })
    reader.release()
    const later = await waiting
    assert.deepEqual([later.status, codesIn(later)], [200, ['111111']])
    assert.notEqual(tagOf(later), tagOf(first))
    assert.deepEqual(codesIn(await check()), ['111111'])
    assert.deepEqual(reader.read, ['111111'])
  })

  test('one that is found during a wait in vain is hidden behind no 304', async () => {
    const reader = heldReader()
    const { send, check } = await opened({ parse: reader.parse, patienceMs: IMPATIENT })
    await send('111111')
    reader.hold()
    const first = await check()
    const waiting = check('&wait=1&since_id=9007199254740991')
    reader.release()
    const inVain = await waiting
    assert.equal(inVain.body['timed_out'], true)
    const tag = tagOf(inVain) || tagOf(first)
    assert.deepEqual(codesIn(await check('&wait=5', { 'if-none-match': tag })), ['111111'])
  })

  test('a wait is answered with the code of the mail that ended it', async () => {
    const { send, check } = await opened({ parse: heldReader().parse, patienceMs: PATIENT })
    const waiting = check('&wait=55')
    await send('111111')
    assert.deepEqual(codesIn(await waiting), ['111111'])
  })

  test('mail that comes while a list waits for codes is in that list, and looked at', async () => {
    const reader = heldReader()
    const { send, check } = await opened({ parse: reader.parse, patienceMs: PATIENT })
    await send('111111')
    reader.hold()
    const first = check()
    while (reader.read.length === 0) await new Promise(setImmediate)
    await send('222222')
    reader.release()
    const listed = await first
    assert.equal(codesIn(listed).length, 2)
    const next = await check('&wait=55', { 'if-none-match': tagOf(listed) })
    assert.deepEqual(codesIn(next), ['222222', '111111'])
  })

  for (const [name, fault] of [
    ['fails', new Error('the child died')],
    ['has no room', new Problem('overloaded', 'x', 1)],
  ] as const) {
    test(`a reader that ${name} breaks no list`, async () => {
      const parse = () => Promise.reject(fault)
      const { send, check } = await opened({ parse, patienceMs: IMPATIENT })
      await send('111111')
      const asked = await check()
      assert.deepEqual([asked.status, codesIn(asked)], [200, [null]])
    })
  }
})

describe('304', () => {
  test('to a tag that is older than any look, and has the mail looked at', async () => {
    const { send, check } = await opened({ parse: heldReader().parse, patienceMs: PATIENT })
    await send('111111')
    const untold = await check('&since_id=9007199254740991')
    const tag = { 'if-none-match': tagOf(untold) }
    const unchanged = await check('', tag)
    assert.equal(unchanged.status, 304)
    assert.deepEqual(codesIn(await check('&wait=55', tag)), ['111111'])
  })
})
