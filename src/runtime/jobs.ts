import { seriesSweep, startSeries } from '../admin/series/jobs.ts'
import { blockSweep } from '../blocks/jobs.ts'
import { startCheckJob } from '../doctor/jobs.ts'
import { startOwnDomainChecks } from '../domains/own/jobs.ts'
import { startShopJobs } from '../shop/jobs.ts'
import { startBackups } from '../store/backup/jobs.ts'
import { startCertificates } from '../tls/jobs.ts'
import { startWebhooks } from '../webhooks/jobs.ts'

// The background work of all folders: a line for each.

/** In the main thread. The first is stopped last. */
export const jobs = {
  series: startSeries,
  shop: startShopJobs,
  checks: startCheckJob,
  webhooks: startWebhooks,
  ownDomains: startOwnDomainChecks,
  backups: startBackups,
  certificates: startCertificates,
}

/** Deletions of what has expired, besides mail and sessions. */
export const sweeps = {
  blocks: blockSweep,
  series: seriesSweep,
}
