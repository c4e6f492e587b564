import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { scratchMail } from '../../test/scratch.ts'
import { parseAddress, parseHost } from '../core/address.ts'
import { EMPTY_MAIL, type Mail } from '../core/message.ts'
import { Problem } from '../core/problem.ts'
import { OPERATOR } from '../core/session.ts'
import type { MailStore } from '../store/store.ts'
import { parseOnce } from './parse-once.ts'

let store: MailStore
let close: () => Promise<void>
let rawId: number
beforeEach(async () => {
  const scratch = await scratchMail()
  store = scratch.store
  close = scratch.close
  const [name, recipient] = [parseHost('box.test'), parseAddress('abuse@box.test')]
  assert.ok(name && recipient)
  await store.addDomain({ name, sessions: true, reader: false, ttlSeconds: undefined })
  await store.addMail({
    recipients: [{ address: recipient, mailbox: OPERATOR }],
    envelope: { clientIp: '192.0.2.1', helo: 'x', mailFrom: '', tls: undefined, protocol: 'SMTP' },
    head: { senderName: '', senderEmail: '', subject: '' },
    raw: Buffer.from('Subject: x\r\n\r\nhi\r\n'),
    receivedAt: new Date(),
  })
  const [id] = await store.listMessageIds(OPERATOR)
  rawId = (await store.findMessage(OPERATOR, id ?? 0))?.rawId ?? 0
})
afterEach(() => close())

const mail = { ...EMPTY_MAIL, text: 'hi' }

test('a mail that many ask for at once is parsed once, and never again', async () => {
  let parses = 0
  const parse = async (raw: Uint8Array) => {
    parses += 1
    assert.equal(Buffer.from(raw).toString(), 'Subject: x\r\n\r\nhi\r\n')
    return mail
  }
  const parsed = parseOnce({ store, parse })
  const all = await Promise.all(Array.from({ length: 10 }, () => parsed(rawId)))
  for (const one of all) assert.deepEqual(one, mail)
  assert.deepEqual(await parseOnce({ store, parse })(rawId), mail, 'also by another thread')
  assert.equal(parses, 1)
})

test('a parse that failed is tried again by the next who asks', async () => {
  let parses = 0
  const parse = async () => {
    parses += 1
    if (parses === 1) throw new Error('the child died')
    return mail
  }
  const parsed = parseOnce({ store, parse })
  await assert.rejects(parsed(rawId), /the child died/)
  assert.deepEqual(await parsed(rawId), mail)
})

test('a mail that is gone has no parse', async () => {
  const parse = () => Promise.reject(new Error('nothing to parse'))
  assert.equal(await parseOnce({ store, parse })(rawId + 1), undefined)
})

describe('a parse that nobody waited for', () => {
  /** A parser that answers when it is told to, and notes what it was asked. */
  function slowParser() {
    const heard: string[] = []
    const jobs: PromiseWithResolvers<Mail>[] = []
    const parse = (_raw: Uint8Array, later?: number) => {
      heard.push(later === undefined ? 'now' : 'later')
      const job = Promise.withResolvers<Mail>()
      jobs.push(job)
      return job.promise
    }
    const hasten = (name: number) => heard.push(name === rawId ? 'hasten' : 'hasten another')
    const begun = async (count: number) => {
      while (jobs.length < count) await new Promise(setImmediate)
    }
    return { heard, jobs, begun, parsed: parseOnce({ store, parse, hasten }) }
  }

  test('is hastened for the first who does, and done once', async () => {
    const { heard, jobs, begun, parsed } = slowParser()
    const all = [parsed(rawId, 'later'), parsed(rawId, 'later')]
    await begun(1)
    assert.deepEqual(heard, ['later'])
    all.push(parsed(rawId), parsed(rawId))
    jobs[0]?.resolve(mail)
    for (const one of await Promise.all(all)) assert.deepEqual(one, mail)
    assert.deepEqual(heard, ['later', 'hasten'])
  })

  test('is asked for at once when somebody waits before it was asked for at all', async () => {
    const { heard, jobs, begun, parsed } = slowParser()
    const all = [parsed(rawId, 'later'), parsed(rawId)]
    await begun(1)
    jobs[0]?.resolve(mail)
    await Promise.all(all)
    assert.equal(heard.at(-1), 'now')
  })

  test('is kept, but not where the disk is nearly full', async () => {
    for (const [obstacle, kept] of [
      [{ kind: 'full', reason: 'little is left' }, undefined],
      [undefined, mail],
    ] as const) {
      const scarce = { ...store, obstacle: async () => obstacle }
      const parsed = parseOnce({ store: scarce, parse: async () => mail })
      assert.deepEqual(await parsed(rawId, 'later'), mail)
      assert.deepEqual(await store.readParsed(rawId), kept)
    }
  })

  test('is not kept once there was no room, until there is for what somebody reads', async () => {
    const tried: string[] = []
    let isFull = true
    const keepParsed = async () => {
      tried.push(isFull ? 'refused' : 'kept')
      if (isFull) throw new Problem('overloaded', 'x')
    }
    const parsed = parseOnce({ store: { ...store, keepParsed }, parse: async () => mail })
    for (const haste of ['later', 'later', undefined, 'later'] as const) await parsed(rawId, haste)
    assert.deepEqual(tried, ['refused', 'refused'], 'the first, and that of the reader')
    isFull = false
    for (const haste of ['later', undefined, 'later'] as const) await parsed(rawId, haste)
    assert.deepEqual(tried.slice(2), ['kept', 'kept'])
  })

  test('and was refused is asked for anew by whoever waits', async () => {
    const { heard, jobs, begun, parsed } = slowParser()
    const look = assert.rejects(parsed(rawId, 'later'), { code: 'overloaded' })
    await begun(1)
    const read = [parsed(rawId), parsed(rawId)]
    jobs[0]?.reject(new Problem('overloaded', 'x'))
    await look
    await begun(2)
    jobs[1]?.resolve(mail)
    assert.deepEqual(await Promise.all(read), [mail, mail])
    assert.deepEqual(heard, ['later', 'hasten', 'now'])
  })
})
