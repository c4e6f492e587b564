import { gaugeOf, type Metric } from '../../base/metrics.ts'
import { lastBackupAt } from './last-backup.ts'

interface MetricsDeps {
  config: { data: string; store: string; backup: { folder: string } }
}

/** Without a value if there was none, unless there should be. A database server has backups of its own. */
export async function backupMetrics({ config }: MetricsDeps): Promise<Metric[]> {
  if (config.store !== 'sqlite:') return []
  const at = lastBackupAt(config.data)?.getTime() ?? (config.backup.folder === '' ? undefined : 0)
  return [
    gaugeOf(
      'mayfly_backup_last_success_timestamp_seconds',
      'When a backup was last written and verified, in Unix time; 0: never, although MAYFLY_BACKUP is set',
      at === undefined ? [] : [{ labels: {}, value: at / 1000 }],
    ),
  ]
}
