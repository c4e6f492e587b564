import { serveJobs } from '../sandbox/serve-jobs.ts'
import { checkSender } from '../sender-auth/check.ts'
import type { CheckJob, CheckResponse } from '../sender-auth/job.ts'
import { parseMail } from './parse.ts'
import type { ParseJob, ParseResult } from './parser.ts'

// Entry point of the child processes that handle mail, which may read these modules and nothing else. One program for both
// kinds of jobs: a process of its own for each would take another 45 MB.
serveJobs<ParseJob | CheckJob, ParseResult | CheckResponse>((job) =>
  job.kind === 'parse' ? { kind: 'mail', mail: parseMail(job.raw) } : checkSender(job),
)
