import { afterEach, beforeEach, expect, test } from 'vitest'
import { countTurns } from '../../test/kit/mail/turns.ts'
import {
  address,
  domainName,
  type Fixture,
  HOUR,
  host,
  newMail,
  openFixture,
  START,
} from '../../test/kit/store/fixture.ts'
import { openSqliteTestMail } from '../../test/kit/store/stores.ts'
import { addBlock } from '../blocks/blocks.ts'
import { openBlockList } from '../blocks/open-block-list.ts'
import type { FindMailBlock } from './blocking.ts'
import { acceptRecipient, receiveMail } from './receive-mail.ts'
import { keyedTopic, type MailboxId, OPERATOR, POOL, type Topic } from './rules/session.ts'

const LIMITS = {
  mailbox: { maxMessages: 5, maxBytes: 10_000 },
  poolMaxBytes: 20_000,
  ownMaxBytes: 20_000,
  maxMailBytes: 1_000,
}

let fixture: Fixture
let own: MailboxId
let plain: MailboxId
let woken: Topic[]
let found: Promise<unknown[]>[]
beforeEach(async () => {
  fixture = await openFixture(await openSqliteTestMail())
  const wild = { sessions: true, reader: true, ttlSeconds: undefined }
  await fixture.store.addDomain({ name: domainName('*.wild.test'), ...wild })
  own = (await fixture.session('own@box.test', HOUR, 'key-1')).id
  plain = (await fixture.session('plain@box.test')).id
  woken = []
  found = []
})
afterEach(() => fixture.close())

async function receiveFor(to: string[], now = START) {
  const bus = {
    wake(topic: Topic) {
      woken.push(topic)
      found.push(fixture.other.listMessageIds(topic as MailboxId))
    },
  }
  const recipients = await fixture.accepted(to)
  const { envelope } = newMail(recipients)
  const mail = { recipients, envelope, raw: Buffer.from('Subject: hi\r\n\r\nhello\r\n') }
  const deps = { store: fixture.store, bus, now: () => now, findMailBlock: () => undefined }
  const { outcome } = await receiveMail(deps, mail)
  return outcome
}

const key = keyedTopic('key', 'key-1')
const pool = (text: string) => keyedTopic('pool', address(text))

for (const [name, to, expected] of [
  ['a session: its own topic', ['plain@box.test'], () => [plain]],
  ['a session with a key: also the topic of the key', ['own@box.test'], () => [own, key]],
  [
    'a pool address: the topics of the pool and of this address',
    ['any@pool.test'],
    () => [POOL, pool('any@pool.test')],
  ],
  ['the operator: no topic of a key', ['abuse@pool.test'], () => [OPERATOR]],
  [
    'several recipients: each topic once',
    ['own@box.test', 'a@pool.test', 'b@pool.test', 'plain@box.test'],
    () => [own, key, POOL, pool('a@pool.test'), pool('b@pool.test'), plain],
  ],
] as const) {
  test(`mail wakes, for ${name}`, async () => {
    expect(await receiveFor([...to])).toBe('stored')
    expect(woken).toStrictEqual(expected())
  })
}

test('a woken waiter finds the mail', async () => {
  await receiveFor(['own@box.test', 'plain@box.test', 'any@pool.test'])
  const counts = (await Promise.all(found)).map((ids) => ids.length)
  // Topics that are not mailboxes contain no messages.
  expect(counts).toStrictEqual([1, 0, 1, 1, 0])
})

test('mail that was not stored wakes no topic', async () => {
  expect(await receiveFor(['nobody@box.test'])).toBe('no_recipients')
  for (let sent = 0; sent < 5; sent += 1) await fixture.send(['own@box.test'])
  expect(await receiveFor(['own@box.test', 'plain@box.test'])).toBe('full')
  expect(woken).toStrictEqual([])
})

for (const [text, expected] of [
  ['Plain@BOX.test', 'plain@box.test'],
  ['"plain"@box.test', 'plain@box.test'],
  ['"Plain"@BOX.test', 'plain@box.test'],
  ['"p\\lai\\n"@box.test', 'plain@box.test'],
  ['"any.one+tag"@pool.test', 'any.one+tag@pool.test'],
  ['"Abuse"@box.test', 'abuse@box.test'],
  ['plain"@box.test', 'unknown'],
  ['"plain@box.test', 'unknown'],
  ['"pla"in@box.test', 'unknown'],
  ['"pla"."in"@box.test', 'unknown'],
  ['"\\"plain\\""@box.test', 'unknown'],
  ['""@pool.test', 'unknown'],
  ['" plain"@pool.test', 'unknown'],
  ['"plain."@pool.test', 'unknown'],
  ['"plain@box.test"@pool.test', 'unknown'],
  ['"plain@box.test"', 'foreign'],
  ['"plain"@foreign.test', 'foreign'],
  ['"plain@box.test"@foreign.test', 'foreign'],
  ['any@a.wild.test', 'any@a.wild.test'],
  ['abuse@A.Wild.test', 'abuse@a.wild.test'],
  ['"no one"@a.wild.test', 'unknown'],
  ['any@mta-sts.wild.test', 'unknown'],
  ['postmaster@mx.wild.test', 'unknown'],
  ['any@us.wild.test', 'unknown'],
  ['any@www.box.test', 'foreign'],
  ['any@wild.test', 'foreign'],
  ['any@a.b.wild.test', 'foreign'],
] as const) {
  test(`RCPT TO:<${text}> is ${expected}`, async () => {
    const deps = {
      store: fixture.store,
      limits: LIMITS,
      now: () => START,
      ownHosts: ['us.wild.test'],
      countOwnRefused() {},
    }
    const found = await acceptRecipient(deps, text, { size: 0, others: [] })
    expect('refused' in found ? found.refused : found.address).toBe(expected)
  })
}

test('<postmaster> without a domain is accepted where all domains are wildcards', async () => {
  for (const name of ['box.test', 'pool.test'].map(domainName)) {
    await fixture.store.changeDomain(name, { removed: true })
  }
  const countOwnRefused = () => {}
  const { store } = fixture
  const deps = { store, limits: LIMITS, now: () => START, ownHosts: [], countOwnRefused }
  expect(await acceptRecipient(deps, 'Postmaster', { size: 0, others: [] })).toMatchObject({
    mailbox: OPERATOR,
  })
})

test('mail of a blocked client, envelope sender or From header is not stored', async () => {
  const recipients = await fixture.accepted(['plain@box.test'])
  const { envelope } = newMail(recipients)
  const raw = Buffer.from('From: <From@bad.test>\r\nFrom: b@c.test\r\n\r\nhello\r\n')
  const facts: unknown[] = []
  const bus = { wake: (topic: Topic) => void woken.push(topic) }
  const findMailBlock: FindMailBlock = (found) => {
    facts.push({ ...found, readFrom: new Set(found.readFrom()) })
    return 'from_header'
  }
  const deps = { store: fixture.store, bus, now: () => START, findMailBlock }
  expect(await receiveMail(deps, { recipients, envelope, raw })).toEqual({ outcome: 'blocked' })
  expect(facts).toStrictEqual([
    {
      clientIp: '192.0.2.7',
      mailFrom: 'ann@sender.test',
      readFrom: new Set(['From@bad.test', '', 'b@c.test']),
    },
  ])
  expect(await fixture.other.listMessageIds(plain)).toStrictEqual([])
  expect(woken).toStrictEqual([])
})

// A step is 64 KB or 100 addresses. Lists, rules of addresses and the block list share the first pass.
for (const [name, header] of [
  ['other fields', 'X-Pad: x\r\n'.repeat(200_000)],
  ['lines that begin like From', 'f\n'.repeat(1_000_000)],
  ['lines that begin like Subject', 'Su\n'.repeat(700_000)],
  ['one field', `Subject: ${'x\r\n '.repeat(500_000)}`],
  ['one From field without an address', `From: \xff${'x'.repeat(2_000_000)}`],
  ['one From field of @ signs', `From: ${'@'.repeat(2_000_000)}`],
  ['one From field of blanks', `From: a@${'\r\n '.repeat(700_000)}`],
  ['empty From fields', 'From:\n'.repeat(350_000)],
] as const) {
  test(`others proceed while a header of 2 MB is read that consists of ${name}`, async () => {
    const blocks = { store: fixture.store, own: { networks: [], domains: [] }, now: () => START }
    await addBlock(blocks, 'bad.test')
    const list = await openBlockList({ ...blocks, log: { error() {} } })
    const raw = Buffer.from(header, 'latin1')
    const recipients = await fixture.accepted(['plain@box.test'])
    const { envelope } = newMail(recipients)
    const turns = countTurns()
    let read = 0
    const store: typeof fixture.store = {
      ...fixture.store,
      async addMail(mail) {
        read = turns.count()
        return await fixture.store.addMail({ ...mail, recipients: [] })
      },
    }
    const deps = { store, bus: { wake() {} }, now: () => START, ...list }
    const { outcome } = await receiveMail(deps, { recipients, envelope, raw })
    expect(outcome).toBe('no_recipients')
    turns.stop()
    await list.close()
    expect(read > 25 && read < 1_000, `${read} steps`).toBeTruthy()
  })
}

test('a recipient whose session expired in the meantime is not woken', async () => {
  await fixture.session('long@box.test', 2 * HOUR, 'key-2')
  const late = new Date(START.getTime() + HOUR)
  expect(await receiveFor(['own@box.test', 'long@box.test'], late)).toBe('stored')
  expect(woken).toContain(keyedTopic('key', 'key-2'))
  expect(woken).not.toContain(key)
})

test('mail refused at a domain of a key is counted, unless it is deferred after a restore', async () => {
  const { store } = fixture
  const name = host('own.test')
  await store.addOwnDomain({ id: 'dom_1', keyId: 'k1', name, token: 't', createdAt: START }, 1)
  await store.activateOwnDomain({ id: 'dom_1', keyId: 'k1', now: START })
  const counted: string[] = []
  const countOwnRefused = (refused: string) => void counted.push(refused)
  const rcpt = async () => {
    const deps = { store, limits: LIMITS, now: () => START, ownHosts: [], countOwnRefused }
    const offer = { size: 0, others: [] }
    const found = await acceptRecipient(deps, 'any@own.test', offer)
    return 'refused' in found ? found.refused : 'accepted'
  }
  const suspended = { state: 'suspended', reason: 'record_missing' } as const
  expect([await rcpt(), counted]).toStrictEqual(['accepted', []])
  await store.changeOwnDomain('dom_1', suspended)
  expect([await rcpt(), counted]).toStrictEqual(['unknown', ['own.test']])
  await store.distrustOwnDomains(START)
  expect([await rcpt(), counted]).toStrictEqual(['restored', ['own.test']])
})
