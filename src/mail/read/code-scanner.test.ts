import assert from 'node:assert/strict'
import { queryObjects } from 'node:v8'
import { afterEach, describe, test } from 'vitest'
import { Problem } from '../../base/problem.ts'
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
    assert.deepEqual(await listed(), [[undefined, undefined, undefined]])
    assert.equal(await found(), true)
    assert.deepEqual(await listed(), [['123456', `Your code: ${'x'.repeat(109)}`, 1]])
    assert.deepEqual(fixture.woken, [fixture.session.id])
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
    assert.ok(kept < 30, `${kept} promises`)
    parser.release()
    assert.equal(await found(), true)
  })

  test('has its sender checked once', async () => {
    fixture = await openCodeFixture()
    const id = await fixture.send('123456')
    await found()
    await found()
    assert.deepEqual(fixture.checked, [id])
  })

  test('without a code or text is marked as such: waiters are woken, and it is not scanned again', async () => {
    fixture = await openCodeFixture()
    await fixture.send('')
    assert.equal(await found(), true)
    assert.deepEqual(await codesOf(), [''])
    assert.deepEqual(fixture.woken, [fixture.session.id])
    assert.equal(await scanAll(), undefined)
  })

  test('is parsed once for any number of concurrent scans', async () => {
    const reader = heldParser()
    fixture = await openCodeFixture({ parse: reader.parse })
    await fixture.send('123456')
    reader.hold()
    const all = [found(), found(), found()]
    reader.release()
    assert.deepEqual(await Promise.all(all), [true, true, true])
    assert.deepEqual(reader.read, ['123456'])
    assert.equal(fixture.woken.length, 1)
  })

  test('that takes long is scanned to the end after its waiters have left', async () => {
    const reader = heldParser()
    fixture = await openCodeFixture({ parse: reader.parse, resultWaitMs: NO_WAIT })
    await fixture.send('123456')
    reader.hold()
    assert.equal(await found(), false)
    assert.deepEqual(await codesOf(), [undefined])
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
    assert.equal(await fixture.codes.scan(mailbox, listed)?.found(), true)
    assert.deepEqual([reader.read, fixture.woken], [[], []])
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
    assert.deepEqual([await codesOf(), fixture.logged, fixture.woken], [[], [], []])
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
    assert.equal(await found(), true)
    assert.deepEqual(await codesOf(), ['222222', undefined])
    assert.deepEqual(
      fixture.logged.map(({ err }) => String(err)),
      ['Error: the child died'],
    )
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
    assert.equal(await found(), true)
    assert.deepEqual([await codesOf(), fixture.logged], [['123456'], []])
  })
})
