import { describe, expect, test } from 'vitest'
import { operatorFixture } from '../../../test/kit/app/operator.ts'
import { CommandError } from '../../cli/output.ts'
import type { Progress } from '../../cli/progress.ts'
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
    expect(fixture.lines).toStrictEqual([
      `Deleted 8 messages (4 kB) from ${BAD}: 4 in 2 sessions, 2 in the pool, 2 for postmaster and abuse.`,
    ])
    for (const mailbox of [ann.id, bob.id, POOL, OPERATOR]) {
      const remaining = await fixture.store.listMessages(mailbox, { sinceId: 0, limit: 9 })
      expect(remaining.map(({ subject }) => subject)).toStrictEqual(['192.0.2.7'])
    }
    expect.assert(fixture.waits === 1)
    const last = updates.at(-1)
    expect([last?.rows, last?.all.rows]).toStrictEqual([12, 12])
  })

  test('prints a message if nothing was found', async () => {
    await fixture.session('ann')
    await fixture.send(['ann'], { clientIp: BAD })
    await run(BAD)
    await run(BAD)
    expect(fixture.lines).toStrictEqual([
      `Deleted 1 message (10 bytes) from ${BAD}: 1 in 1 session.`,
      `No messages from ${BAD} were found.`,
    ])
    expect.assert(fixture.waits === 1)
  })

  test('an interrupted run reports what is done; the next one continues', async () => {
    const ann = await fixture.session('ann')
    for (let sent = 0; sent < 1_100; sent += 1) await fixture.send(['ann'], { clientIp: BAD })
    const refused = await run(BAD, new AbortController(), 1).catch((error) => error)
    expect.assert(refused instanceof CommandError)
    expect(refused.exitCode).toBe(1)
    expect(refused.message).toMatch(/^Interrupted: .*Run the command again\.$/)
    expect(fixture.lines[0] ?? '').toMatch(/^Deleted 1,000 messages /)
    expect.assert((await fixture.store.listMessageIds(ann.id)).length === 100)
    await run(BAD)
    expect(fixture.lines[1] ?? '').toMatch(/^Deleted 100 messages /)
    expect.assert((await fixture.store.listMessageIds(ann.id)).length === 0)
  })

  test('accepts an IP address in any notation, and nothing else', () => {
    expect(parseIp('2001:DB8:0::7')).toBe('2001:db8::7')
    expect(parseIp('::ffff:198.51.100.9')).toBe(BAD)
    for (const text of ['198.51.100.0/24', 'sender.test', '198.51.100', '']) {
      expect(() => parseIp(text)).toThrow(/^--from-ip: ".*" is not an IP address\.$/)
    }
  })
})
