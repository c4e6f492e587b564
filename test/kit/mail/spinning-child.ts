import { parseMail } from '../../../src/mime/parse.ts'
import type { ParseJob, ParseResult } from '../../../src/mime/parser.ts'
import { serveJobs } from '../../../src/sandbox/serve-jobs.ts'

// A parser that uses all its CPU time for a mail that begins with `spin`.
serveJobs<ParseJob, ParseResult>(({ raw }) => {
  if (Buffer.from(raw).toString('latin1', 0, 4) === 'spin') for (;;) Math.random()
  return { kind: 'mail', mail: parseMail(raw) }
})
