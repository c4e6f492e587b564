import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { CommandError } from '../../cli/output.ts'
import type { Progress } from '../../cli/progress.ts'
import { operatorFixture } from '../../cli/testing/operator.ts'
import { OPERATOR, POOL } from '../rules/session.ts'
import { deleteMail, parseIp } from './mail.ts'

const fixture = operatorFixture()
const BAD = '198.51.100.9'

async function run(fromIp: string, controller = new AbortController(), stopAfter = Infinity) {
  const updates: Progress[] = []
  const progress = {
    tell(one: Progress) {
      updates.push({ ...one, all: { ...one.all } })
      if (updates.length >= stopAfter) controller.abort()
    },
    end() {},
  }
  await deleteMail(fixture.deps(), { fromIp, signal: controller.signal, progress }, fixture.print)
  return updates
}

describe('mail delete --from-ip', () => {
  test('deletes mail of this client from every mailbox and says where', async () => {
    const ann = await fixture.session('ann')
    const bob = await fixture.session('bob')
    for (const clientIp of [BAD, '192.0.2.7', BAD]) {
      await fixture.send(['ann', 'bob', 'any', 'abuse'], { clientIp, bytes: 512 })
    }
    const updates = await run(BAD)
    assert.deepEqual(fixture.lines, [
      `Deleted 8 messages (4 KB) from ${BAD}: 4 in 2 sessions, 2 in the pool, 2 for postmaster and abuse.`,
    ])
    for (const mailbox of [ann.id, bob.id, POOL, OPERATOR]) {
      const remaining = await fixture.store.listMessages(mailbox, { sinceId: 0, limit: 9 })
      assert.deepEqual(
        remaining.map(({ subject }) => subject),
        ['192.0.2.7'],
      )
    }
    assert.equal(fixture.waits, 1)
    const last = updates.at(-1)
    assert.deepEqual([last?.rows, last?.all.rows], [12, 12])
  })

  test('prints a message if nothing was found', async () => {
    await fixture.session('ann')
    await fixture.send(['ann'], { clientIp: BAD })
    await run(BAD)
    await run(BAD)
    assert.deepEqual(fixture.lines, [
      `Deleted 1 message (10 bytes) from ${BAD}: 1 in 1 session.`,
      `No messages from ${BAD} were found.`,
    ])
    assert.equal(fixture.waits, 1)
  })

  test('an interrupted run reports what is done; the next one continues', async () => {
    const ann = await fixture.session('ann')
    for (let sent = 0; sent < 1_100; sent += 1) await fixture.send(['ann'], { clientIp: BAD })
    const refused = await run(BAD, new AbortController(), 1).catch((error) => error)
    assert.ok(refused instanceof CommandError)
    assert.equal(refused.exitCode, 1)
    assert.match(refused.message, /^Interrupted: .*Run the command again\.$/)
    assert.match(fixture.lines[0] ?? '', /^Deleted 1,000 messages /)
    assert.equal((await fixture.store.listMessageIds(ann.id)).length, 100)
    await run(BAD)
    assert.match(fixture.lines[1] ?? '', /^Deleted 100 messages /)
    assert.equal((await fixture.store.listMessageIds(ann.id)).length, 0)
  })

  test('accepts an IP address in any notation, and nothing else', () => {
    assert.equal(parseIp('2001:DB8:0::7'), '2001:db8::7')
    assert.equal(parseIp('::ffff:198.51.100.9'), BAD)
    for (const text of ['198.51.100.0/24', 'sender.test', '198.51.100', '']) {
      assert.throws(() => parseIp(text), /^Error: --from-ip: ".*" is not an IP address\.$/)
    }
  })
})
