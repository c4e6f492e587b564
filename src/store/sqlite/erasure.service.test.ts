import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  at,
  DAY,
  type Fixture,
  HOUR,
  head,
  MINUTE,
  openFixture,
  scanOf,
} from '../../../test/kit/store/fixture.ts'
import { openSqliteTestMail } from '../../../test/kit/store/stores.ts'
import { type MailboxId, POOL } from '../../mail/rules/session.ts'
import { MAIL_FILE, openReadOnly } from './files.ts'

// What is left of deleted mail in the files. Pages that became free as a whole are not overwritten: see docs/security.md.

const CANARY = 'CANARY-77'
let mail: Fixture
let folder: string

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const opened = await openSqliteTestMail()
  folder = opened.folder
  mail = await openFixture(opened)
})
afterEach(async () => {
  await mail.close()
  vi.useRealTimers()
})

/** The files that contain a word of the mail. */
function filesWithCanary(): string[] {
  return readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(CANARY))
}
const logBytes = () => statSync(join(folder, `${MAIL_FILE}-wal`)).size

async function send(to: string) {
  const sent = await mail.send([to], {
    head: { ...head(`${CANARY} subject`), senderEmail: `${CANARY}@sender.test` },
    raw: Buffer.from(`Subject: ${CANARY}\r\n\r\n${CANARY} body`),
  })
  if (sent.outcome !== 'stored') throw new Error(sent.outcome)
}

describe('half a minute later, the files contain nothing of a mail', () => {
  for (const [name, remove] of [
    ['that was deleted', (mailbox, id) => mail.store.deleteMessages(mailbox, [id])],
    [
      'whose session was deleted',
      async (mailbox) => {
        await mail.store.endSession(mailbox, at(0))
        await mail.sweepAll(at(2 * MINUTE))
      },
    ],
    ['whose session has expired', () => mail.sweepAll(at(2 * HOUR))],
    ['of the pool that has expired', () => mail.sweepAll(at(2 * DAY))],
  ] satisfies [string, (mailbox: MailboxId, id: number) => Promise<unknown>][]) {
    test(name, async () => {
      const { id: session } = await mail.session('ann@box.test')
      const mailbox = name.includes('pool') ? POOL : session
      await send(name.includes('pool') ? 'any@pool.test' : 'ann@box.test')
      const [id = 0] = await mail.store.listMessageIds(mailbox)
      if (mailbox === session) await mail.store.saveScan(scanOf(mailbox, id, CANARY))
      await remove(mailbox, id)
      expect(await mail.store.listMessageIds(mailbox)).toEqual([])
      expect(filesWithCanary()).toContain(`${MAIL_FILE}-wal`)
      vi.advanceTimersByTime(30_000)
      expect(filesWithCanary()).toEqual([])
      expect(logBytes()).toBe(0)
    })
  }
})

test('a read that takes long delays that, and neither mail nor the read fails', async () => {
  await mail.session('ann@box.test')
  await send('ann@box.test')
  await mail.sweepAll(at(2 * HOUR))
  const reader = openReadOnly(join(folder, MAIL_FILE))
  const rows = reader.prepare('select * from mail_domain').iterate()
  rows.next()
  vi.advanceTimersByTime(30_000)
  expect(logBytes()).toBeGreaterThan(0)
  await send('any@pool.test')
  expect(rows.next().done).toBe(false)
  rows.return?.()
  vi.advanceTimersByTime(1_000)
  expect(logBytes()).toBe(0)
  expect(await mail.store.listMessageIds(POOL)).toHaveLength(1)
  reader.close()
})
