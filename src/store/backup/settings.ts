import type { SettingReader } from '../../base/settings/settings.ts'
import { integer, text } from '../../base/settings/values.ts'

export function backupConfig({ setting }: SettingReader) {
  return {
    backup: {
      folder: setting(
        'MAYFLY_BACKUP',
        text,
        '',
        'folder for a backup each day, with SQLite: better on another disk than MAYFLY_DATA; empty: none',
      ),
      keep: setting(
        'MAYFLY_BACKUP_KEEP',
        integer(1, 10_000),
        '14',
        'how many backups stay in MAYFLY_BACKUP; older ones are deleted',
      ),
    },
  }
}
