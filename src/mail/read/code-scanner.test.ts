import { queryObjects } from 'node:v8'
import { afterEach, describe, expect, test } from 'vitest'
import { waitUntil } from '../../../test/kit/wait-until.ts'
import { Problem, StoreUnavailable } from '../../base/problem.ts'
import type { MessageSummary } from '../rules/message.ts'
import type { MailboxId } from '../rules/session.ts'
import {
  type CodeFixture,
  heldParser,
  mailWith,
  NO_WAIT,
  openCodeFixture,
  SCAN,
} from '../testing/codes.ts'
import { deleteMail } from './read-mail.ts'

let fixture: CodeFixture
afterEach(() => fixture.close())

const codesOf = async () => (await fixture.list()).map(({ code }) => code)
const scanAll = async () => fixture.codes.scan(fixture.session.id, await fixture.list())
const found = async () => (await scanAll())?.found()
/** A scan without waiters is complete once its result is stored. */
async function untilCodes(expected: (string | undefined)[]) {
  while (JSON.stringify(await codesOf()) !== JSON.stringify(expected)) {
    await new Promise(setImmediate)
  }
}

describe('a mail', () => {
  test('not yet scanned gets its code, preview and attachments saved, and waiters are woken', async () => {
    const position = { start: 0, end: 1, encoding: '' }
    const attachment = { filename: 'a', contentType: 'b/c', size: 1, inline: false, position }
    const parse = async () => ({
      ...mailWith('123456'),
      text: `\n Your  code:\t${'x'.repeat(200)}`,
      attachments: [
        { ...attachment, index: 0, contentId: null },
        { ...attachment, index: 1, contentType: 'image/png', contentId: 'logo', inline: true },
      ],
    })
    fixture = await openCodeFixture({ parse })
    await fixture.send('')
    const listed = async () =>
      (await fixture.list()).map(({ code, preview, attachments }) => [code, preview, attachments])
    expect(await listed()).toStrictEqual([[undefined, undefined, undefined]])
    expect(await found()).toBe(true)
    expect(await listed()).toStrictEqual([['123456', `Your code: ${'x'.repeat(109)}`, 1]])
    expect(fixture.woken).toStrictEqual([fixture.session.id])
  })

  test('that waits to be scanned keeps nothing in memory of those who no longer wait for it', async () => {
    const parser = heldParser()
    parser.hold()
    fixture = await openCodeFixture({ parse: parser.parse })
    await fixture.send('123456')
    const messages = await fixture.list()
    const giveUp = () => fixture.codes.scan(fixture.session.id, messages)?.found(NO_WAIT)
    await giveUp()
    const promises = () => Number(queryObjects(Promise, { format: 'count' }))
    const before = promises()
    for (let count = 0; count < 60; count += 1) await giveUp()
    const kept = promises() - before
    expect(kept, `${kept} promises`).toBeLessThan(30)
    parser.release()
    expect(await found()).toBe(true)
  })

  test('has its sender checked once', async () => {
    fixture = await openCodeFixture()
    const id = await fixture.send('123456')
    await found()
    await found()
    expect(fixture.checked).toStrictEqual([id])
  })

  test('without a code or text is marked as such: waiters are woken, and it is not scanned again', async () => {
    fixture = await openCodeFixture()
    await fixture.send('')
    expect(await found()).toBe(true)
    expect(await codesOf()).toStrictEqual([''])
    expect(fixture.woken).toStrictEqual([fixture.session.id])
    expect(await scanAll()).toBeUndefined()
  })

  test('is parsed once for any number of concurrent scans', async () => {
    const reader = heldParser()
    fixture = await openCodeFixture({ parse: reader.parse })
    await fixture.send('123456')
    reader.hold()
    const all = [found(), found(), found()]
    reader.release()
    expect(await Promise.all(all)).toStrictEqual([true, true, true])
    expect(reader.read).toStrictEqual(['123456'])
    expect(fixture.woken.length).toBe(1)
  })

  test('that takes long is scanned to the end after its waiters have left', async () => {
    const reader = heldParser()
    fixture = await openCodeFixture({ parse: reader.parse, resultWaitMs: NO_WAIT })
    await fixture.send('123456')
    reader.hold()
    expect(await found()).toBe(false)
    expect(await codesOf()).toStrictEqual([undefined])
    reader.release()
    await untilCodes(['123456'])
  })

  test('that another thread has scanned in the meantime is not parsed', async () => {
    const reader = heldParser()
    fixture = await openCodeFixture({ parse: reader.parse })
    const { id: mailbox } = fixture.session
    await fixture.send('123456')
    const listed = await fixture.list()
    await fixture.store.saveScan({ ...SCAN, mailbox, id: listed[0]?.id ?? 0, code: '999999' })
    expect(await fixture.codes.scan(mailbox, listed)?.found()).toBe(true)
    expect([reader.read, fixture.woken]).toStrictEqual([[], []])
  })

  test('deleted before or during the scan is not an error', async () => {
    const reader = heldParser()
    fixture = await openCodeFixture({ parse: reader.parse })
    const { id: mailbox } = fixture.session
    const ids = [await fixture.send('111111'), await fixture.send('222222')]
    const listed = await fixture.list()
    await deleteMail(fixture, fixture.token, ids[0] ?? 0)
    reader.hold()
    const scan = fixture.codes.scan(mailbox, listed)
    while (reader.read.length === 0) await new Promise(setImmediate)
    await deleteMail(fixture, fixture.token, ids[1] ?? 0)
    reader.release()
    await scan?.found()
    expect([await codesOf(), fixture.logged, fixture.woken]).toStrictEqual([[], [], []])
  })
})

describe('scans', () => {
  /** Store calls that end when the test ends them; each finds its message deleted. */
  async function heldStore(limits: Parameters<typeof openCodeFixture>[0] = {}) {
    const running: { id: number; end: () => void; fail: (error: Error) => void }[] = []
    const started: number[] = []
    const findMessage = (_mailbox: MailboxId, id: number) => {
      started.push(id)
      return new Promise<undefined>((resolve, reject) => {
        running.push({ id, end: () => resolve(undefined), fail: reject })
      })
    }
    fixture = await openCodeFixture({ ...limits, findMessage })
    const ended = async (act: (one: (typeof running)[number]) => void) => {
      const one = running.shift()
      if (one) act(one)
      await new Promise(setImmediate)
    }
    return {
      started,
      end: () => ended((one) => one.end()),
      fail: (error: Error) => ended((one) => one.fail(error)),
      scan: (mailbox: number, ids: number[], client?: string) =>
        fixture.codes.scan(mailbox as MailboxId, ids.map(summaryOf), client),
    }
  }
  const summaryOf = (id: number) => ({ id }) as MessageSummary
  const limits = { slots: 2 }

  test('run some at once, the newest of a mailbox first', async () => {
    const { scan, started, end } = await heldStore({ limits: { slots: 3 } })
    scan(7, [5, 4, 3, 2])
    expect(started).toEqual([5, 4])
    scan(7, [6])
    for (let count = 0; count < 4; count += 1) await end()
    expect(started).toEqual([5, 4, 6, 3, 2])
  })

  test('of a client with many mailboxes have one share', async () => {
    const { scan, started, end } = await heldStore({ limits: { slots: 1 } })
    for (const mailbox of [7, 8]) scan(mailbox, [mailbox], 'eve')
    scan(9, [9], 'ann')
    await end()
    expect(started).toEqual([7, 9])
  })

  test('beyond the limits are not queued, and the response says so', async () => {
    const { scan } = await heldStore({ limits: { slots: 1, maxWaitingPerKey: 2 } })
    expect(scan(7, [4, 3, 2], 'eve')?.complete).toBe(true)
    const refused = scan(7, [4, 1], 'eve')
    expect(refused?.complete).toBe(false)
    // Up to the first refusal; the others have no room either.
    expect(scan(7, [1, 4], 'eve')?.complete).toBe(false)
    expect(scan(8, [1], 'ann')?.complete).toBe(true)
  })

  test('that are refused keep their slot: while the store is unavailable, no others start', async () => {
    const { scan, started, fail } = await heldStore({ limits })
    scan(7, [1])
    scan(8, [2])
    scan(9, [3])
    for (let count = 0; count < 2; count += 1) await fail(new StoreUnavailable())
    await waitUntil(() => started.length === 4)
    expect(started.toSorted()).toEqual([1, 1, 2, 2])
  })

  test('that are refused five times are queued again behind the others, without another request', async () => {
    const { scan, started, end, fail } = await heldStore({ limits: { slots: 1 } })
    const first = scan(7, [1])?.found()
    scan(8, [2])
    for (let count = 1; count <= 5; count += 1) {
      await waitUntil(() => started.length === count)
      await fail(new StoreUnavailable())
    }
    expect(await first).toBe(false)
    expect(started).toEqual([1, 1, 1, 1, 1, 2])
    await end()
    expect(started.slice(5)).toEqual([2, 1])
  })

  test('that are refused delay only scans of their owner', async () => {
    const { scan, started, fail } = await heldStore({
      limits: { ...limits, retry: { first: 3_600_000, max: 3_600_000 } },
    })
    scan(7, [2, 1])
    await fail(new Problem('overloaded', 'x'))
    scan(8, [3])
    expect(started).toEqual([2, 3])
  })

  test('have found nothing at the end of the service, and later failures are not logged', async () => {
    const { scan, started, fail } = await heldStore({ limits: { slots: 1 } })
    const waiting = scan(7, [2, 1])?.found()
    fixture.codes.close()
    expect(await waiting).toBe(false)
    await fail(new Error('the store is closed'))
    expect([fixture.logged, started]).toEqual([[], [2]])
    expect(scan(7, [3])?.complete).toBe(false)
  })
})

describe('an error', () => {
  test('of the parser affects only that mail, and is logged', async () => {
    const parse = async (raw: Uint8Array) => {
      if (Buffer.from(raw).includes('bad')) throw new Error('the child died')
      return mailWith('222222')
    }
    fixture = await openCodeFixture({ parse })
    await fixture.send('bad')
    await fixture.send('good')
    expect(await found()).toBe(true)
    expect(await codesOf()).toStrictEqual(['222222', undefined])
    expect(fixture.logged.map(({ err }) => String(err))).toStrictEqual(['Error: the child died'])
  })

  test('of an overloaded parser is retried and not logged', async () => {
    let attempts = 0
    const parse = async () => {
      attempts += 1
      if (attempts <= 3) throw new Problem('overloaded', 'x')
      return mailWith('123456')
    }
    fixture = await openCodeFixture({ parse })
    await fixture.send('')
    expect(await found()).toBe(true)
    expect([await codesOf(), fixture.logged]).toStrictEqual([['123456'], []])
  })
})
