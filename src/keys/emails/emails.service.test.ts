import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { countTurns } from '../../../test/kit/mail/turns.ts'
import {
  address,
  type Fixture,
  HOUR,
  head,
  openFixture,
  START,
} from '../../../test/kit/store/fixture.ts'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { Problem } from '../../base/problem.ts'
import { openStepScheduler } from '../../mail/read/step-scheduler.ts'
import { EMPTY_MAIL, type Mail } from '../../shared/mail.ts'
import { type EmailQuery, emailsVersion, newestEmailId, parseTo } from './emails.ts'
import { listEmails as listFor } from './list-emails.ts'

const ROOM = {
  mailbox: { maxMessages: 1_000, maxBytes: 1e9 },
  poolMaxBytes: 1e9,
  ownMaxBytes: 1e9,
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
const textMail = (text: string): Mail => ({ ...EMPTY_MAIL, text })
const deps = (more: Partial<Parameters<typeof listEmails>[0]> = {}) => ({
  store: fixture.store,
  parsed: async () => textMail('text') as Mail | undefined,
  steps: openStepScheduler(),
  poolAccess: 'open' as const,
  now: () => START,
  ...more,
})
const send = async (to: string, subject: string) => {
  expect((await fixture.send([to], { head: head(subject) })).outcome).toBe('stored')
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
      expect(await subjects(viewDeps, query())).toStrictEqual(all)
      expect(await subjects(viewDeps, query({ to: address(any) }))).toStrictEqual(byAddress)
      expect(await subjects(viewDeps, query({ to: address(own) }))).toStrictEqual([own])
      for (const other of ['theirs@box.test', 'nobodys@box.test']) {
        const wanted = query({ to: address(other) })
        expect(await subjects(viewDeps, wanted)).toStrictEqual([])
        expect(await newestEmailId(viewDeps, wanted)).toBe(0)
        expect(await emailsVersion(viewDeps, wanted), 'nor that there is any').toBe(
          await emailsVersion(viewDeps, query({ to: address('never@box.test') })),
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
    expect(pages).toStrictEqual([['5', '4'], ['3', '2'], ['1']])
  })

  test('that is exactly full has no next one', async () => {
    expect((await listEmails(deps(), query({ to, limit: 5 }))).nextAfter).toBeUndefined()
  })

  test('ends at 8 MB, and the next page continues after it', async () => {
    const parsed = async () => textMail('\u0001'.repeat(256 * 1024))
    // Escaped in JSON, this character takes six bytes: five bodies are 7.5 MB, their text only 1.25 MB.
    const first = await listEmails(deps({ parsed }), query({ to }))
    expect(first.records.length).toBe(5)
    for (const subject of ['6', '7']) await send(to, subject)
    const page = await listEmails(deps({ parsed }), query({ to }))
    expect(page.records.map(subjectOf)).toStrictEqual(['7', '6', '5', '4', '3'])
    const wanted = query({ to, beforeId: page.nextAfter })
    expect(await subjects(deps({ parsed }), wanted)).toStrictEqual(['2', '1'])
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
    expect(records.length).toBe(4)
    const rest = await subjects(deps(), query({ to, beforeId: nextAfter }))
    expect(rest).toStrictEqual(['3', '2', '1'])
  })

  test('ends where the parser is overloaded, but never without a record', async () => {
    let parses = 0
    const parsed = async () => {
      parses += 1
      if (parses > 5) throw new Problem('overloaded', 'x', 1)
      return textMail('text')
    }
    const { records, nextAfter } = await listEmails(deps({ parsed }), query({ to }))
    expect(records.length).toBe(4)
    expect(await subjects(deps(), query({ to, beforeId: nextAfter }))).toStrictEqual([
      '3',
      '2',
      '1',
    ])
    await expect(listEmails(deps({ parsed }), query({ to }))).rejects.toMatchObject({
      code: 'overloaded',
    })
  })

  test('omits mail deleted in the meantime, and later pages are complete', async () => {
    const deletedMail = deps({ parsed: async () => undefined })
    const page = await listEmails(deletedMail, query({ to, limit: 3 }))
    expect(page.records).toStrictEqual([])
    expect(await subjects(deps(), query({ to, beforeId: page.nextAfter }))).toStrictEqual([
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
    expect(await subjects(moved, query({ to, limit: 2 }))).toStrictEqual(['7', '6'])
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
      expect([madeIn.length, new Set(madeIn).size]).toStrictEqual([21, 3 * turnsPerPage])
      // Large ones are read in turns of their own.
      if (name !== 'large') expect(readIn).toStrictEqual(madeIn)
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
    await expect(page).rejects.toThrow(/hung up/)
    expect(reads).toBe(2)
  })

  for (const [size, expected] of [
    [2_000, 7 * 2_000],
    [10_000_000, 7 * 256 * 1024],
  ] as const) {
    test(`reserves its size before it is read: ${size} bytes a mail`, async () => {
      const reserve = (bytes: number) => {
        expect(bytes).toBe(expected)
        throw new Problem('overloaded', 'x')
      }
      const parsed = () => expect.fail('read')
      const request = { client: '192.0.2.1', toJson: (record: object) => record, reserve }
      const page = listFor(deps({ store: withSize(size), parsed }), query({ to }), request)
      await expect(page).rejects.toMatchObject({ code: 'overloaded' })
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
    expect((await subjects(deps({ parsed }), query({ to }))).length).toBe(7)
    expect(maxConcurrent).toBe(4)
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
    test(`${text} is ${expected}`, () => expect(parseTo(text)).toBe(expected))
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
      expect(() => parseTo(text)).toThrow(
        expect.toSatisfy((error) => error instanceof Problem && error.message.startsWith('to: ')),
      )
    })
  }
})
