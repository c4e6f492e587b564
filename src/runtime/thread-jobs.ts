import { imapJob } from '../gmail/jobs.ts'
import type { Config } from './config.ts'
import type { IntakeParts } from './setup.ts'

interface ThreadJob {
  isNeeded(config: Config): boolean
  start(parts: IntakeParts & { config: Config }): Promise<{ stop(): Promise<void> }>
}

/** Background jobs with a thread of their own: a line for each. */
export const threadJobs: Record<string, ThreadJob> = {
  imap: imapJob,
}
