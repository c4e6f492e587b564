import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withDb } from '../src/store/backup/backup.ts'
import { MAIL_FILE } from '../src/store/sqlite/files.ts'
import { ENGINES, type Running, type StartOptions } from './kit/crash/engines.ts'
import { quotaActor } from './kit/crash/key-actors.ts'
import { crashUnderLoad } from './kit/crash/rounds.ts'

const ROUNDS = process.env['MAYFLY_TEST_LONG'] ? 20 : 2
const { start } = ENGINES.SQLite

// With more load, more often and on both engines: npm run campaign.
test('after a SIGKILL, acknowledged mail is stored unchanged and exactly once, and no key gets more requests than its plan', async () => {
  const { counts, findings } = await crashUnderLoad({
    start,
    count: ROUNDS,
    mails: 100,
    actors: [quotaActor()],
  })
  expect(findings).toStrictEqual([])
  expect(counts).toMatchObject({ 'plans used up': ROUNDS })
  process.stdout.write(`${JSON.stringify(counts)}\n`)
})

test('mail that a crash would lose, move, double, change or mix up is found (control)', async () => {
  const { findings } = await crashUnderLoad({ start: startSpoiling, count: 1, mails: 100 })
  const faults = findings.map((finding) => finding.replace(/^fault 1: \S+ /, ''))
  expect(faults.toSorted()).toStrictEqual([
    'is changed',
    'is in a mailbox that it was not sent to',
    'is missing',
    'is missing',
    'is there twice',
  ])
})

async function startSpoiling(options: StartOptions): Promise<Running> {
  const running = await start(options)
  return {
    ...running,
    async restart(turn) {
      await running.restart(turn)
      spoil(join(running.config.data, MAIL_FILE))
      // Without what it has cached.
      await running.restart(turn)
    },
  }
}

const COLUMNS = 'raw_id, recipient, sender_name, sender_email, subject, received_at, size'

/** Five mails, each with one recipient. */
function spoil(file: string): void {
  withDb(file, (db) => {
    const mails = db
      .prepare(
        `select mailbox, m.id, raw_id from message m join raw_mail r on r.id = raw_id
         where refs = 1 group by mailbox order by mailbox limit 5`,
      )
      .all() as { mailbox: number; id: number; raw_id: number }[]
    const [lost, moved, doubled, changed, other] = mails
    const update = (sql: string, ...values: (number | undefined)[]) =>
      expect(db.prepare(sql).run(...values).changes).toBe(1)
    update('delete from message where mailbox = ? and id = ?', lost?.mailbox, lost?.id)
    update('update message set mailbox = ? where id = ?', lost?.mailbox, moved?.id)
    update(
      `insert into message (mailbox, id, ${COLUMNS}) select mailbox, id + 1, ${COLUMNS} from message where id = ?`,
      doubled?.id,
    )
    update(
      'update raw_bytes set zstd = (select zstd from raw_bytes where raw_id = ?) where raw_id = ?',
      other?.raw_id,
      changed?.raw_id,
    )
  })
}
