import { expect, test } from 'vitest'
import { evaluateBackup } from './check.ts'

const NOW = new Date('2026-03-01T12:00:00Z')
const hoursAgo = (hours: number) => new Date(NOW.getTime() - hours * 3_600_000)
const DAILY = '/backups'

test.each([
  ['nothing to lose', 0, undefined, '', 'ok', ''],
  ['recent', 3, hoursAgo(20), '', 'ok', ''],
  ['a week old', 3, hoursAgo(168), '', 'ok', ''],
  ['older', 3, hoursAgo(169), '', 'warning', 'MAYFLY_BACKUP='],
  ['never', 3, undefined, '', 'warning', 'MAYFLY_BACKUP='],
  ['daily, two days old', 3, hoursAgo(48), DAILY, 'ok', ''],
  ['daily, older', 3, hoursAgo(49), DAILY, 'warning', 'the daily backup failed'],
  ['daily, never', 3, undefined, DAILY, 'warning', 'the daily backup failed'],
] as const)('%s', (_name, entries, at, folder, status, fix) => {
  const result = evaluateBackup({ entries, at, folder, folderFault: undefined }, NOW)
  expect(result).toMatchObject({ status, fix: expect.stringContaining(fix) })
})

test('a folder that cannot be written to, also before there is something to lose', () => {
  const folderFault = 'ENOENT: no such file'
  const facts = { entries: 0, at: undefined, folder: DAILY, folderFault }
  expect(evaluateBackup(facts, NOW)).toMatchObject({
    status: 'failure',
    seen: 'MAYFLY_BACKUP: ENOENT: no such file',
    fix: expect.stringContaining('ReadWritePaths=/backups'),
  })
})
