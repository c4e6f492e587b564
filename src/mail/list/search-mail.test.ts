import { expect, onTestFinished, test } from 'vitest'
import { countTurns } from '../../../test/kit/mail/turns.ts'
import { EMPTY_MAIL } from '../../shared/mail.ts'
import type { ReadParsed } from '../read/parsed-mail.ts'
import { parseSearch } from '../rules/filter.ts'
import { openCodeFixture, SCAN } from '../testing/codes.ts'
import { searchMail } from './search-mail.ts'

const searchFor = (text: string) => ({
  search: parseSearch(text),
  filter: undefined,
  sinceId: 0,
  limit: 100,
  client: undefined,
  signal: new AbortController().signal,
})

test('a search reads parsed messages first, and of those the small ones', async () => {
  const fixture = await openCodeFixture({ parse: async () => EMPTY_MAIL })
  onTestFinished(fixture.close)
  const { deps, token, session } = fixture
  const small = await fixture.send('', 'small')
  const large = await fixture.send('x'.repeat(300_000), 'large')
  for (const id of [small, large]) {
    await fixture.store.saveScan({ ...SCAN, mailbox: session.id, id, code: '' })
  }
  await fixture.send('', 'not parsed')
  const subjects = new Map((await fixture.list()).map(({ rawId, subject }) => [rawId, subject]))
  const read: unknown[] = []
  const parsed: ReadParsed = (rawId, request) => {
    read.push(subjects.get(rawId))
    return fixture.parsed(rawId, request)
  }
  await searchMail(
    { ...deps, codes: { scan: () => undefined }, parsed },
    { token, session },
    searchFor('needle'),
  )
  expect(read).toStrictEqual(['small', 'large', 'not parsed'])
})

test('of several searches, each turn of the event loop reads one message or searches one part of a text', async () => {
  const text = 'x'.repeat(25_000)
  const fixture = await openCodeFixture({ parse: async () => ({ ...EMPTY_MAIL, text }) })
  onTestFinished(fixture.close)
  const { deps, token, session } = fixture
  for (let sent = 0; sent < 6; sent += 1) {
    await fixture.send('')
  }
  const turns = countTurns()
  onTestFinished(turns.stop)
  const reads: number[] = []
  const parsed: ReadParsed = (rawId, request) => {
    reads.push(turns.count())
    return fixture.parsed(rawId, request)
  }
  const found = await Promise.all(
    Array.from({ length: 3 }, () =>
      searchMail(
        { ...deps, codes: { scan: () => undefined }, parsed },
        { token, session },
        searchFor('needle'),
      ),
    ),
  )
  expect(found.map(({ messages, incomplete }) => [messages.length, incomplete])).toStrictEqual(
    Array(3).fill([0, false]),
  )
  expect(new Set(reads).size).toBe(18)
  // For each search and message: the read, and three parts of the text.
  expect(turns.count(), `${turns.count()} turns`).toBeGreaterThanOrEqual(18 * 4 - 1)
})

test('other requests are served while a search reads many long subjects', async () => {
  const fixture = await openCodeFixture({ parse: async () => EMPTY_MAIL })
  onTestFinished(fixture.close)
  const { deps, token, session } = fixture
  for (let sent = 0; sent < 40; sent += 1) await fixture.send('', 'ᾷ'.repeat(998))
  const turns = countTurns()
  onTestFinished(turns.stop)
  let turnsBefore: number | undefined
  const parsed: ReadParsed = async (rawId, request) => {
    turnsBefore ??= turns.count()
    return fixture.parsed(rawId, request)
  }
  const codes = { scan: () => undefined }
  await searchMail({ ...deps, codes, parsed }, { token, session }, searchFor('needle'))
  expect(turnsBefore !== undefined && turnsBefore >= 3, `${turnsBefore} turns`).toBeTruthy()
})
