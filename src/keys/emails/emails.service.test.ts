import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { openSqliteTestMail } from '../../../test/support/stores.ts'
import { Problem } from '../../base/problem.ts'
import { openStepScheduler } from '../../mail/read/step-scheduler.ts'
import { countTurns } from '../../mail/testing/turns.ts'
import type { Mail } from '../../shared/mail.ts'
import {
  address,
  type Fixture,
  HOUR,
  head,
  openFixture,
  START,
} from '../../store/contract/fixture.ts'
import { type EmailQuery, emailsVersion, newestEmailId, parseTo } from './emails.ts'
import { listEmails as listFor } from './list-emails.ts'

const ROOM = {
  mailbox: { maxMessages: 1_000, maxBytes: 1e9 },
  poolMaxBytes: 1e9,
  maxMailBytes: 1e7,
}

let fixture: Fixture
beforeAll(async () => {
  fixture = await openFixture(await openSqliteTestMail(ROOM))
})
afterAll(() => fixture.close())

const query = (more: Partial<EmailQuery> = {}): EmailQuery => ({
  keyId: 'k1',
  to: undefined,
  sinceId: 0,
  beforeId: undefined,
  limit: 100,
  ...more,
})

const listEmails = (deps: Parameters<typeof listFor>[0], wanted: EmailQuery) =>
  listFor(deps, wanted, { client: '192.0.2.1', toJson: (record) => record, reserve() {} })
const subjectOf = ({ json }: { json: Buffer }) => JSON.parse(json.toString()).subject
const textMail = (text: string) => ({ to: [], cc: [], text }) as unknown as Mail
const deps = (more: Partial<Parameters<typeof listEmails>[0]> = {}) => ({
  store: fixture.store,
  parsed: async () => textMail('text') as Mail | undefined,
  steps: openStepScheduler(),
  poolAccess: 'open' as const,
  now: () => START,
  ...more,
})
const send = async (to: string, subject: string) => {
  assert.equal((await fixture.send([to], { head: head(subject) })).outcome, 'stored')
}
const subjects = async (...[viewDeps, wanted]: Parameters<typeof listEmails>) =>
  (await listEmails(viewDeps, wanted)).records.map(subjectOf)

describe('mail visible to a key', () => {
  beforeAll(async () => {
    await fixture.session('own@box.test', HOUR, 'k1')
    await fixture.session('theirs@box.test', HOUR, 'k2')
    await fixture.session('nobodys@box.test', HOUR)
    for (const to of ['own@box.test', 'theirs@box.test', 'nobodys@box.test', 'any@pool.test']) {
      await send(to, to)
    }
  })
  const [own, any] = ['own@box.test', 'any@pool.test']

  for (const [poolAccess, all, byAddress] of [
    ['open', [any, own], [any]],
    ['by-address', [own], [any]],
    ['off', [own], []],
  ] as const) {
    test(`pool ${poolAccess}: without an address, and with one`, async () => {
      const viewDeps = deps({ poolAccess })
      assert.deepEqual(await subjects(viewDeps, query()), all)
      assert.deepEqual(await subjects(viewDeps, query({ to: address(any) })), byAddress)
      assert.deepEqual(await subjects(viewDeps, query({ to: address(own) })), [own])
      for (const other of ['theirs@box.test', 'nobodys@box.test']) {
        const wanted = query({ to: address(other) })
        assert.deepEqual(await subjects(viewDeps, wanted), [])
        assert.equal(await newestEmailId(viewDeps, wanted), 0)
        assert.equal(
          await emailsVersion(viewDeps, wanted),
          await emailsVersion(viewDeps, query({ to: address('never@box.test') })),
          'nor that there is any',
        )
      }
    })
  }
})

describe('a page', () => {
  const to = address('pages@pool.test')
  beforeAll(async () => {
    for (const subject of ['1', '2', '3', '4', '5']) await send(to, subject)
  })

  test('links to the next one until no message is left', async () => {
    const pages: string[][] = []
    let beforeId: number | undefined
    do {
      const page = await listEmails(deps(), query({ to, beforeId, limit: 2 }))
      pages.push(page.records.map(subjectOf))
      beforeId = page.nextAfter
    } while (beforeId !== undefined)
    assert.deepEqual(pages, [['5', '4'], ['3', '2'], ['1']])
  })

  test('that is exactly full has no next one', async () => {
    assert.equal((await listEmails(deps(), query({ to, limit: 5 }))).nextAfter, undefined)
  })

  test('ends at 8 MB, and the next page continues after it', async () => {
    const parsed = async () => textMail('\u0001'.repeat(256 * 1024))
    // Escaped in JSON, this character takes six bytes: five bodies are 7.5 MB, their text only 1.25 MB.
    const first = await listEmails(deps({ parsed }), query({ to }))
    assert.equal(first.records.length, 5)
    for (const subject of ['6', '7']) await send(to, subject)
    const page = await listEmails(deps({ parsed }), query({ to }))
    assert.deepEqual(page.records.map(subjectOf), ['7', '6', '5', '4', '3'])
    const wanted = query({ to, beforeId: page.nextAfter })
    assert.deepEqual(await subjects(deps({ parsed }), wanted), ['2', '1'])
  })

  test('ends at the time limit, and the next page continues after it', async () => {
    let elapsedMs = 0
    const slow = deps({
      now: () => new Date(START.getTime() + elapsedMs),
      async parsed() {
        elapsedMs += 2_500
        return textMail('slow')
      },
    })
    const { records, nextAfter } = await listEmails(slow, query({ to, limit: 100 }))
    assert.equal(records.length, 4)
    const rest = await subjects(deps(), query({ to, beforeId: nextAfter }))
    assert.deepEqual(rest, ['3', '2', '1'])
  })

  test('ends where the parser is overloaded, but never without a record', async () => {
    let parses = 0
    const parsed = async () => {
      parses += 1
      if (parses > 5) throw new Problem('overloaded', 'x', 1)
      return textMail('text')
    }
    const { records, nextAfter } = await listEmails(deps({ parsed }), query({ to }))
    assert.equal(records.length, 4)
    assert.deepEqual(await subjects(deps(), query({ to, beforeId: nextAfter })), ['3', '2', '1'])
    await assert.rejects(listEmails(deps({ parsed }), query({ to })), { code: 'overloaded' })
  })

  test('omits mail deleted in the meantime, and later pages are complete', async () => {
    const deletedMail = deps({ parsed: async () => undefined })
    const page = await listEmails(deletedMail, query({ to, limit: 3 }))
    assert.deepEqual(page.records, [])
    assert.deepEqual(await subjects(deps(), query({ to, beforeId: page.nextAfter })), [
      '4',
      '3',
      '2',
      '1',
    ])
  })

  test('reads a message again if its session moved to another partition meanwhile', async () => {
    const former = -1
    const { store } = fixture
    const listKeyMail: typeof store.listKeyMail = async (...page) =>
      (await store.listKeyMail(...page)).map((message) => ({ ...message, rawId: former }))
    const parsed = async (rawId: number) => (rawId === former ? undefined : textMail('text'))
    const moved = deps({ store: { ...store, listKeyMail }, parsed })
    assert.deepEqual(await subjects(moved, query({ to, limit: 2 })), ['7', '6'])
  })

  /** As if each mail had this size. */
  const withSize = (size: number) => {
    const { store } = fixture
    const listKeyMail: typeof store.listKeyMail = async (...page) =>
      (await store.listKeyMail(...page)).map((message) => ({ ...message, size }))
    return { ...store, listKeyMail }
  }

  for (const [name, size, turnsPerPage] of [
    ['short', 2_000, 1],
    ['long', 230_000, 7],
    ['large', 10_000_000, 7],
  ] as const) {
    test(`of ${name} mails is made in steps, one per turn whatever the number of requests`, async () => {
      const turns = countTurns()
      const [readIn, madeIn]: [number[], number[]] = [[], []]
      const request = {
        client: '192.0.2.1',
        toJson(record: object) {
          madeIn.push(turns.count())
          return record
        },
        reserve() {},
      }
      const parsed = async () => {
        readIn.push(turns.count())
        return textMail('text')
      }
      const shared = deps({ store: withSize(size), parsed })
      await Promise.all([1, 2, 3].map(() => listFor(shared, query({ to }), request)))
      turns.stop()
      assert.deepEqual([madeIn.length, new Set(madeIn).size], [21, 3 * turnsPerPage])
      // Large ones are read in turns of their own.
      if (name !== 'large') assert.deepEqual(readIn, madeIn)
    })
  }

  test('is not read to its end if the client disconnects', async () => {
    const disconnect = new AbortController()
    const { signal } = disconnect
    let reads = 0
    const parsed = async () => {
      reads += 1
      if (reads === 2) disconnect.abort(new Error('the client hung up'))
      return textMail('text')
    }
    const request = {
      client: '192.0.2.1',
      signal,
      toJson: (record: object) => record,
      reserve() {},
    }
    const page = listFor(deps({ store: withSize(230_000), parsed }), query({ to }), request)
    await assert.rejects(page, /hung up/)
    assert.equal(reads, 2)
  })

  for (const [size, expected] of [
    [2_000, 7 * 2_000],
    [10_000_000, 7 * 256 * 1024],
  ] as const) {
    test(`reserves its size before it is read: ${size} bytes a mail`, async () => {
      const reserve = (bytes: number) => {
        assert.equal(bytes, expected)
        throw new Problem('overloaded', 'x')
      }
      const parsed = () => assert.fail('read')
      const request = { client: '192.0.2.1', toJson: (record: object) => record, reserve }
      const page = listFor(deps({ store: withSize(size), parsed }), query({ to }), request)
      await assert.rejects(page, { code: 'overloaded' })
    })
  }

  test('is parsed by at most four concurrent calls', async () => {
    let concurrent = 0
    let maxConcurrent = 0
    const parsed = async () => {
      concurrent += 1
      maxConcurrent = Math.max(maxConcurrent, concurrent)
      await new Promise(setImmediate)
      concurrent -= 1
      return textMail('text')
    }
    assert.equal((await subjects(deps({ parsed }), query({ to }))).length, 7)
    assert.equal(maxConcurrent, 4)
  })
})

describe('to', () => {
  for (const [text, expected] of [
    ['ann@box.test', 'ann@box.test'],
    ['  Ann@BOX.test ', 'ann@box.test'],
    ['Ann <Ann@box.test>', 'ann@box.test'],
    ['"Lee, Ann" <ann@box.test> ', 'ann@box.test'],
    ['<ann@box.test>', 'ann@box.test'],
    ['ann@bücher.test', 'ann@xn--bcher-kva.test'],
    ['ann+tag@box.test', 'ann+tag@box.test'],
  ] as const) {
    test(`${text} is ${expected}`, () => assert.equal(parseTo(text), expected))
  }

  for (const text of [
    'ann',
    '@box.test',
    'ann@',
    'ann@box.test, bob@box.test',
    'Ann <ann@box.test',
    '<ann@box.test> Ann',
    '<<ann@box.test>>',
    '<>',
    '%@box.test',
    '*',
    'ann tag@box.test',
    'a..b@box.test',
    'ann@box.test\0',
    '"ann"@box.test',
  ]) {
    test(`${JSON.stringify(text)} is refused, and the message names the parameter`, () => {
      assert.throws(
        () => parseTo(text),
        (error) => error instanceof Problem && error.message.startsWith('to: '),
      )
    })
  }
})
