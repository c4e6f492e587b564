import assert from 'node:assert/strict'
import { onTestFinished, test } from 'vitest'
import { parseSearch } from '../../core/mail-filter.ts'
import { EMPTY_MAIL } from '../../core/message.ts'
import { openCodeFixture, SCAN } from '../testing/codes.ts'
import type { ReadParsed } from './parsed-mail.ts'
import { searchMail } from './search-mail.ts'

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
    {
      search: parseSearch('needle'),
      filter: undefined,
      sinceId: 0,
      limit: 100,
      client: undefined,
      signal: new AbortController().signal,
    },
  )
  assert.deepEqual(read, ['small', 'large', 'not parsed'])
})
