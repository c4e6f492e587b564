import { serveJobs } from '../sandbox/serve-jobs.ts'
import { parseMail } from './parse.ts'
import type { ParseJob, ParseResult } from './parser.ts'

// Entry point of the parser process, which may read these modules and nothing else.
serveJobs<ParseJob, ParseResult>(({ raw }) => ({ kind: 'mail', mail: parseMail(raw) }))
