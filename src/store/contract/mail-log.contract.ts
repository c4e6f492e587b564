import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { at, DAY, HOUR, type OpenMailStore } from '../../../test/kit/store/fixture.ts'
import { findLines, type LineQuery, parseLineQuery } from '../../mail/log/find-lines.ts'
import { eventHashes, type MailLogEvent, mailLogLine } from '../../mail/log/rules.ts'

const KEY = new Uint8Array(32).fill(7)

export function mailLogContract(open: () => Promise<OpenMailStore>): void {
  let opened: OpenMailStore
  beforeEach(async () => {
    opened = await open()
  })
  afterEach(() => opened.close())

  const event = (to: string, more: Partial<MailLogEvent> = {}): MailLogEvent => ({
    at: at(0),
    result: 'accepted',
    reason: '',
    command: 'DATA',
    ip: '192.0.2.1',
    helo: 'mx.sender.test',
    sender: 'ann@sender.test',
    recipients: [{ address: to }],
    size: 100,
    ms: 5,
    ...more,
  })

  const add = (events: readonly MailLogEvent[], mode: 'masked' | 'full' = 'masked') =>
    opened.store.addLogLines(
      events.map((one) => ({ line: mailLogLine(one, mode), hashes: eventHashes(KEY, one) })),
    )

  const LAUREN = eventHashes(KEY, event('lauren@box.test', { sender: 'lauren@box.test' }))

  const sweep = (now: Date, kept: { mailLogMs?: number; mailLogLines?: number } = {}) =>
    opened.store.sweep({
      ...{ now, cooldownMs: DAY, poolMs: DAY, operatorMs: DAY, ownMs: DAY, mailLogMs: DAY },
      ...kept,
    })

  async function found(query: LineQuery, { limit = 100, key = KEY } = {}): Promise<string[]> {
    const { lines } = await findLines(opened.other, parseLineQuery(query, key), { limit })
    return lines.map(({ id }) => id)
  }

  test('a line is read as it was written', async () => {
    const recipients = [{ address: 'lauren@box.test' }, { address: 'x@l.box.test', wildcard: true }]
    const hostile = event('', {
      id: 'a1',
      recipients,
      helo: "'; drop table mail_log; --\u0000\ud800ü",
      tls: 'TLSv1.3 with TLS_AES_256_GCM_SHA384',
      account: 'joe.miller@gmail.com',
      size: 25_000_000_000,
    })
    await add([hostile])
    const { lines } = await findLines(opened.other, parseLineQuery({}, KEY), { limit: 10 })
    expect(lines).toStrictEqual([{ number: 1, ...mailLogLine(hostile, 'masked') }])
    expect(await opened.other.lastLogLine()).toBe(1)
  })

  test('masked lines are found by a whole address, with the right key only', async () => {
    await add([
      event('lauren@box.test', { id: 'a' }),
      event('laura@box.test', { id: 'b', sender: 'lauren@box.test' }),
      event('x@box.test', {
        id: 'c',
        recipients: [{ address: 'o@box.test' }, { address: 'lauren@box.test' }],
      }),
    ])
    expect(await found({ to: 'Lauren@BOX.test' })).toEqual(['c', 'a'])
    expect(await found({ from: 'lauren@box.test' })).toEqual(['b'])
    expect(await found({ to: 'laura@box.test', from: 'lauren@box.test' })).toEqual(['b'])
    expect(await found({ to: 'lauren@box.test', from: 'lauren@box.test' })).toEqual([])
    expect(await found({ to: 'l…n@box.test' })).toEqual([])
    expect(await found({ to: 'lauren@box.test' }, { key: new Uint8Array(32) })).toEqual([])
  })

  describe('lines are selected', () => {
    beforeEach(() =>
      add([
        event('lauren@box.test', { id: 'a' }),
        event('lauren@sub.box.test', { id: 'b', result: 'refused', ip: '2001:db8::1' }),
        event('lauren@w.box.test', {
          id: 'c',
          recipients: [{ address: 'lauren@w.box.test', wildcard: true }],
        }),
        event('lauren@mybox.test', { id: 'd', sender: 'x@mail.sender.test', ip: '192.0.2.10' }),
        event('lauren@box.test.evil.test', { id: 'e', sender: '' }),
        event('lauren@o_o.test', { id: 'f', sender: undefined, ip: '2001:db8:0:0::/64', count: 9 }),
        event('lauren@oxo.test', { id: 'g', sender: 'ann@xsender.test' }),
      ]),
    )
    for (const [name, query, ids] of [
      ['by the domain of a recipient', { to: 'box.test' }, 'cba'],
      ['by a wildcard domain', { to: '*.box.test' }, 'cba'],
      ['by a domain with a wildcard of SQL', { to: 'o_o.test' }, 'f'],
      ['by the domain of the sender', { from: 'sender.test' }, 'dcba'],
      ['by the client', { ip: '192.0.2.1' }, 'geca'],
      ['by an IPv6 client, with counts of its network', { ip: '2001:DB8:0::1' }, 'fb'],
      ['by the result', { result: 'refused' }, 'b'],
      ['by the id', { id: 'd' }, 'd'],
      ['by several of them', { to: 'box.test', from: 'sender.test', result: 'accepted' }, 'ca'],
    ] as const) {
      test(name, async () => expect((await found(query)).join('')).toBe(ids))
    }
  })

  test('whole addresses are also selected by domain', async () => {
    await add([event('lauren@w.box.test', { id: 'a' })], 'full')
    await add([event('lauren@W.Box.test', { id: 'b', sender: 'ann@Sender.TEST' })], 'full')
    expect(await found({ to: 'box.test', from: 'sender.test' })).toEqual(['b', 'a'])
  })

  test('pages have every line once, newest first, across steps', async () => {
    const lines = Array.from({ length: 5_000 }, (_, one) =>
      event(one % 1_000 === 0 ? 'rare@box.test' : 'other@box.test', {
        id: String(one),
        result: one === 3 ? 'refused' : 'accepted',
      }),
    )
    for (let from = 0; from < lines.length; from += 500) await add(lines.slice(from, from + 500))
    expect(await found({ to: 'rare@box.test' })).toEqual(['4000', '3000', '2000', '1000', '0'])
    expect(await found({ result: 'refused' })).toEqual(['3'])
    expect(await found({ to: 'other@box.test', result: 'refused' })).toEqual(['3'])
    const filter = parseLineQuery({ to: 'other@box.test' }, KEY)
    const ids: string[] = []
    let before: number | undefined
    do {
      const page = await findLines(opened.other, filter, { before, limit: 1_001 })
      ids.push(...page.lines.map(({ id }) => id))
      before = page.next
    } while (before !== undefined)
    const expected = lines.filter(({ id }) => Number(id) % 1_000 !== 0).map(({ id }) => id ?? '')
    expect(ids).toEqual(expected.toReversed())
    const after = await findLines(opened.other, filter, { after: 4_990, limit: 100 })
    expect(after.lines.map(({ id }) => id).at(-1)).toBe('4990')
  })

  test('writers beside each other leave no gap that a reader could miss', async () => {
    const stores = [opened.store, opened.other]
    const batch = (id: string) => {
      const one = event('lauren@box.test', { id })
      return [1, 2, 3].map(() => ({
        line: mailLogLine(one, 'masked'),
        hashes: eventHashes(KEY, one),
      }))
    }
    await Promise.all(
      Array.from({ length: 20 }, (_, one) => stores[one % 2]?.addLogLines(batch(String(one)))),
    )
    const { lines } = await findLines(opened.other, parseLineQuery({}, KEY), { limit: 100 })
    expect(lines.map(({ number }) => number)).toEqual(
      Array.from({ length: 60 }, (_, one) => 60 - one),
    )
    // Those of one batch follow each other.
    for (let one = 0; one < 60; one += 3) {
      expect(new Set(lines.slice(one, one + 3).map(({ id }) => id)).size).toBe(1)
    }
  })

  test('lines of an address are forgotten, whoever sent or received', async () => {
    await add([
      event('lauren@box.test', { id: 'a' }),
      event('other@box.test', { id: 'b', sender: 'lauren@box.test' }),
      event('other@box.test', { id: 'c' }),
    ])
    const forgotten = { hashes: LAUREN, until: at(0) }
    expect(await opened.store.forgetLogLines(forgotten)).toBe(2)
    expect(await opened.store.forgetLogLines(forgotten)).toBe(0)
    expect(await found({})).toEqual(['c'])
    expect(await found({ to: 'other@box.test' })).toEqual(['c'])
  })

  test('lines of a forgotten address that are still to be written are not stored', async () => {
    expect(await opened.other.forgetLogLines({ hashes: LAUREN, until: at(HOUR) })).toBe(0)
    await add([
      event('lauren@box.test', { id: 'a', at: at(HOUR) }),
      event('other@box.test', { id: 'b', sender: 'lauren@box.test' }),
      event('other@box.test', { id: 'c' }),
      event('lauren@box.test', { id: 'd', at: at(HOUR + 1) }),
    ])
    expect(await found({})).toEqual(['d', 'c'])
    expect(await found({ to: 'lauren@box.test' })).toEqual(['d'])
  })

  test('an address is forgotten for a short time only', async () => {
    const forgotten = { hashes: LAUREN, until: at(HOUR) }
    await opened.store.forgetLogLines(forgotten)
    await sweep(at(2 * HOUR))
    await add([event('lauren@box.test', { id: 'a' })])
    expect(await found({})).toEqual(['a'])
  })

  test('forgetting leaves nothing, however it meets those who add lines', async () => {
    const forget = async () => {
      const forgotten = { hashes: LAUREN, until: at(0) }
      while ((await opened.other.forgetLogLines(forgotten)) > 0);
    }
    const writes = Array.from({ length: 20 }, () => add([event('lauren@box.test')]))
    await Promise.all([...writes, forget()])
    expect(await found({})).toEqual([])
  })

  describe('the sweep', () => {
    test('deletes lines after their time', async () => {
      await add([event('a@box.test', { id: 'a' }), event('b@box.test', { id: 'b', at: at(HOUR) })])
      await sweep(at(DAY - 1))
      expect(await found({})).toEqual(['b', 'a'])
      await sweep(at(DAY))
      expect(await found({})).toEqual(['b'])
      expect(await found({ to: 'a@box.test' })).toEqual([])
      await sweep(at(2 * HOUR), { mailLogMs: 0 })
      expect(await found({})).toEqual([])
    })

    test('deletes lines from before others that are due, though a wrong clock dated them later', async () => {
      const ahead = event('a@box.test', { id: 'a', at: at(365 * DAY) })
      for (let one = 0; one < 3; one += 1) await add(Array.from({ length: 400 }, () => ahead))
      await add([event('b@box.test', { id: 'b' })])
      await add([event('c@box.test', { id: 'c', at: at(365 * DAY) })])
      expect(await sweep(at(DAY))).toBe(true)
      await sweep(at(DAY))
      expect(await found({})).toEqual(['c'])
    })

    test('deletes a line that a slow clock dated, and none before it', async () => {
      await add([event('a@box.test', { id: 'a' })])
      await add([event('b@box.test', { id: 'b', at: at(-365 * DAY) })])
      await sweep(at(HOUR))
      expect(await found({})).toEqual(['a'])
    })

    test('deletes in steps', async () => {
      for (let one = 0; one < 3; one += 1) {
        await add(Array.from({ length: 400 }, () => event('a@box.test')))
      }
      expect(await sweep(at(2 * DAY))).toBe(true)
      expect(await found({}, { limit: 2_000 })).toHaveLength(200)
      await sweep(at(2 * DAY))
      expect(await found({})).toHaveLength(0)
    })

    test('keeps the newest lines only', async () => {
      await add(['a', 'b', 'c'].map((id) => event(`${id}@box.test`, { id })))
      await sweep(at(1), { mailLogLines: 3 })
      expect(await found({})).toEqual(['c', 'b', 'a'])
      await sweep(at(1), { mailLogLines: 1 })
      expect(await found({})).toEqual(['c'])
    })
  })
}
