import { toError } from '../base/problem.ts'

/** Result of a job that threw: a bug of ours. */
export interface JobFailed {
  kind: 'failed'
  /** See errorLocation. */
  location: string
}

/** The main loop of a child: it announces that it is ready, then sends one result per job. */
export function serveJobs<Job, Result>(run: (job: Job) => Result | Promise<Result>): void {
  // A terminal or a supervisor signals the whole process group, but the parent decides when its children end.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => {})
  process.on('message', async (job: Job) => process.send?.(await resultOf(run, job)))
  process.send?.({ kind: 'ready' })
}

async function resultOf<Job, Result>(
  run: (job: Job) => Result | Promise<Result>,
  job: Job,
): Promise<Result | JobFailed> {
  try {
    return await run(job)
  } catch (error) {
    return { kind: 'failed', location: errorLocation(error) }
  }
}

const FRAMES = 3
const FRAME = /^ +(at .+)$/gm
const ABOVE_SOURCE = /file:\/\/\S*?\/(?=(src|node_modules)\/)/g

/** Name and stack frames of an error, without its message, which may quote the mail. */
export function errorLocation(error: unknown): string {
  const { name, message, stack = '' } = toError(error)
  const frames = [...stack.replace(message, () => '').matchAll(FRAME)].slice(0, FRAMES)
  return [name, ...frames.map(([, frame = '']) => frame.replace(ABOVE_SOURCE, ''))].join(' ')
}
