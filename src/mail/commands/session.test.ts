import { describe, expect, test } from 'vitest'
import { NOON, operatorFixture } from '../../../test/kit/app/operator.ts'
import { CommandError } from '../../cli/output.ts'
import { eventHashes, type MailLogEvent, mailLogLine } from '../log/rules.ts'
import { endSession, printSessions } from './session.ts'

const fixture = operatorFixture()

describe('session list', () => {
  test('shows address, times, usage and whether there is a key, but no mail, token or key', async () => {
    await fixture.session('ann', { keyId: 'key_secret' })
    await fixture.session('bob', { minutes: 120 })
    await fixture.send(['bob'], { bytes: 2_560 })
    await printSessions(fixture.deps(), { limit: 50 }, fixture.print)
    expect(fixture.lines).toStrictEqual([
      'ADDRESS       CREATED (UTC)     EXPIRES (UTC)     MESSAGES  SIZE     KEY',
      'bob@box.test  2026-03-01 12:00  2026-03-01 14:00  1         3 kB     no',
      'ann@box.test  2026-03-01 12:00  2026-03-01 13:00  0         0 bytes  yes',
    ])
  })

  test('shows the whole address, which `session end` takes', async () => {
    const name = 'a'.repeat(64)
    await fixture.session(name)
    await printSessions(fixture.deps(), { limit: 50 }, fixture.print)
    expect(fixture.lines[1]?.startsWith(`${name}@box.test  2026-03-01 12:00  `)).toBeTruthy()
  })

  test('--largest sorts by size, --limit truncates the list and says so', async () => {
    for (const name of ['ann', 'bob', 'cid']) await fixture.session(name)
    await fixture.send(['ann'], { bytes: 500 })
    await fixture.send(['bob'], { bytes: 900 })
    await printSessions(fixture.deps(), { largest: true, limit: 2 }, fixture.print)
    expect(fixture.lines.slice(1).join('\n')).toMatch(
      /^bob@.*\nann@.*\nShowing the first 2\. Use --limit for more\.$/,
    )
  })

  test('--json has the names and times of the API', async () => {
    await fixture.session('ann', { keyId: 'key_secret' })
    await printSessions(fixture.deps(), { limit: 50, json: true }, fixture.print)
    expect(JSON.parse(fixture.lines.join('\n'))).toStrictEqual([
      {
        email: 'ann@box.test',
        created_at: '2026-03-01 12:00:00',
        created_at_iso: '2026-03-01T12:00:00Z',
        expires_at: '2026-03-01 13:00:00',
        expires_at_iso: '2026-03-01T13:00:00Z',
        messages: 0,
        bytes: 0,
        key: true,
      },
    ])
    expect(fixture.lines.join()).not.toMatch(/hash|secret/)
  })

  test('prints a message if there are none', async () => {
    await printSessions(fixture.deps(), { limit: 50 }, fixture.print)
    expect(fixture.lines).toStrictEqual(['No live sessions.'])
    await printSessions(fixture.deps(), { limit: 50, json: true }, fixture.print)
    expect(fixture.lines.at(-1)).toBe('[]')
  })
})

describe('session end', () => {
  test('ends it, prints what can no longer be read, and returns once that is visible everywhere', async () => {
    const { tokenHash } = await fixture.session('ann')
    await fixture.send(['ann'], { bytes: 1_024 })
    await endSession(fixture.deps(), 'Ann@Box.Test', fixture.print)
    expect(fixture.lines).toStrictEqual([
      'Ended the session for ann@box.test. 1 message (1 kB) can no longer be read.',
    ])
    expect(await fixture.store.findSession(tokenHash)).toBeUndefined()
    expect(fixture.waits).toBe(1)
  })

  test('also forgets what the mail log has of the address, even of a former session', async () => {
    await fixture.session('lauren')
    const forgetKey = new Uint8Array(32)
    for (const [at, first] of [
      [NOON, 'Ended the session for lauren@box.test. 0 messages (0 bytes) can no longer be read.'],
      [new Date(NOON.getTime() + 3_600_000), 'No live session holds lauren@box.test.'],
    ] as const) {
      const event: MailLogEvent = {
        ...{ at, result: 'refused', reason: '', command: 'RCPT' },
        recipients: [{ address: 'lauren@box.test' }],
      }
      const line = { line: mailLogLine(event, 'masked'), hashes: eventHashes(forgetKey, event) }
      await fixture.store.addLogLines([line])
      await endSession({ ...fixture.deps(), forgetKey }, 'lauren@box.test', fixture.print)
      const deleted = 'Deleted 1 line of the mail log about lauren@box.test.'
      expect(fixture.lines.splice(0)).toStrictEqual([first, deleted])
    }
  })

  for (const [text, exitCode, message] of [
    ['nobody@box.test', 1, 'No live session holds nobody@box.test. See: mayfly session list'],
    ['over@box.test', 1, 'No live session holds over@box.test. See: mayfly session list'],
    [
      'postmaster@box.test',
      1,
      'No live session holds postmaster@box.test. See: mayfly session list',
    ],
    ['ann', 2, '"ann" is not an address.'],
    ['a b@box.test', 2, '"a b@box.test" is not an address.'],
    ['', 2, '"" is not an address.'],
  ] as const) {
    test(`${JSON.stringify(text)} is refused`, async () => {
      await fixture.session('over', { minutes: 0 })
      const refused = await endSession(fixture.deps(), text, fixture.print).catch((error) => error)
      expect(refused).toBeInstanceOf(CommandError)
      expect([refused.message, refused.exitCode]).toStrictEqual([message, exitCode])
      expect(fixture.lines).toStrictEqual([])
    })
  }
})
