import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'vitest'
import { Problem } from '../../core/problem.ts'
import { deleteMail } from './delete-mail.ts'
import { type CodeScene, heldReader, IMPATIENT, mailWith, openCodeScene } from '../testing/codes.ts'

let scene: CodeScene
afterEach(() => scene.close())

const codesOf = async () => (await scene.list()).map(({ code }) => code)
const lookAtAll = async () => scene.codes.look(scene.session.id, await scene.list())
const found = async () => (await lookAtAll())?.found()
/** A look that nobody waits for has been made when its outcome is kept. */
async function untilCodes(expected: (string | undefined)[]) {
  while (JSON.stringify(await codesOf()) !== JSON.stringify(expected)) {
    await new Promise(setImmediate)
  }
}

describe('a mail', () => {
  test('that nobody has looked at has its code noted, and those who wait are woken', async () => {
    scene = await openCodeScene()
    await scene.send('123456')
    assert.deepEqual(await codesOf(), [undefined])
    assert.equal(await found(), true)
    assert.deepEqual(await codesOf(), ['123456'])
    assert.deepEqual(scene.woken, [scene.session.id])
  })

  test('has its sender asked about too, once', async () => {
    scene = await openCodeScene()
    const id = await scene.send('123456')
    await found()
    await found()
    assert.deepEqual(scene.checked, [id])
  })

  test('without a code is noted as such; nobody is woken, and nobody looks again', async () => {
    scene = await openCodeScene()
    await scene.send('')
    assert.equal(await found(), false)
    assert.deepEqual(await codesOf(), [''])
    assert.deepEqual(scene.woken, [])
    assert.equal(await lookAtAll(), undefined)
  })

  test('is read once, however many ask for its code and for itself', async () => {
    const reader = heldReader()
    scene = await openCodeScene({ parse: reader.parse })
    await scene.send('123456')
    reader.hold()
    const all = [found(), found(), found()]
    reader.release()
    assert.deepEqual(await Promise.all(all), [true, true, true])
    assert.deepEqual(reader.read, ['123456'])
    assert.equal(scene.woken.length, 1)
  })

  test('that takes long is looked at to the end after those who waited have left', async () => {
    const reader = heldReader()
    scene = await openCodeScene({ parse: reader.parse, patienceMs: IMPATIENT })
    await scene.send('123456')
    reader.hold()
    assert.equal(await found(), false)
    assert.deepEqual(await codesOf(), [undefined])
    reader.release()
    await untilCodes(['123456'])
  })

  test('that another thread has looked at meanwhile is not read', async () => {
    const reader = heldReader()
    scene = await openCodeScene({ parse: reader.parse })
    const { id: mailbox } = scene.session
    await scene.send('123456')
    const listed = await scene.list()
    await scene.store.noteCode({ mailbox, id: listed[0]?.id ?? 0, code: '999999' })
    assert.equal(await scene.codes.look(mailbox, listed)?.found(), true)
    assert.deepEqual([reader.read, scene.woken], [[], []])
  })

  test('that goes away before it is read, or while it is, is no fault', async () => {
    const reader = heldReader()
    scene = await openCodeScene({ parse: reader.parse })
    const { id: mailbox } = scene.session
    const ids = [await scene.send('111111'), await scene.send('222222')]
    const listed = await scene.list()
    await deleteMail(scene, scene.token, ids[0] ?? 0)
    reader.hold()
    const looking = scene.codes.look(mailbox, listed)
    while (reader.read.length === 0) await new Promise(setImmediate)
    await deleteMail(scene, scene.token, ids[1] ?? 0)
    reader.release()
    await looking?.found()
    assert.deepEqual([await codesOf(), scene.logged, scene.woken], [[], [], []])
  })
})

describe('a fault', () => {
  test('of the reader costs that code, is told, and leaves the others', async () => {
    const parse = async (raw: Uint8Array) => {
      if (Buffer.from(raw).includes('bad')) throw new Error('the child died')
      return mailWith('222222')
    }
    scene = await openCodeScene({ parse })
    await scene.send('bad')
    await scene.send('good')
    assert.equal(await found(), true)
    assert.deepEqual(await codesOf(), ['222222', undefined])
    assert.deepEqual(
      scene.logged.map(({ err }) => String(err)),
      ['Error: the child died'],
    )
  })

  test('for want of room is none: it is tried again', async () => {
    let refused = 0
    const parse = async () => {
      refused += 1
      if (refused <= 3) throw new Problem('overloaded', 'x')
      return mailWith('123456')
    }
    scene = await openCodeScene({ parse })
    await scene.send('')
    assert.equal(await found(), true)
    assert.deepEqual([await codesOf(), scene.logged], [['123456'], []])
  })
})
