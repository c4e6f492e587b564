import { gaugeOf, type Metric } from '../../base/metrics.ts'
import { isRegular, lastBackupAt } from './last-backup.ts'

interface MetricsDeps {
  config: { data: string; store: string; backup: { folder: string } }
}

/** Without a value if none is made regularly: one that was made by hand may be old. A database server has backups of its own. */
export async function backupMetrics({ config }: MetricsDeps): Promise<Metric[]> {
  if (config.store !== 'sqlite:') return []
  const isExpected = config.backup.folder !== '' || isRegular(config.data)
  const at = lastBackupAt(config.data)?.getTime() ?? 0
  return [
    gaugeOf(
      'mayfly_backup_last_success_timestamp_seconds',
      'When a backup was last written and verified, in Unix time; 0: never, although MAYFLY_BACKUP is set',
      isExpected ? [{ labels: {}, value: at / 1000 }] : [],
    ),
  ]
}
