import { Type } from 'typebox'
import { withTimeout } from '../base/jobs/repeat.ts'
import { timestampFields } from '../base/time.ts'
import { timesOf } from '../http/server/admin-list.ts'
import { adminRoute } from '../http/server/admin-route.ts'
import type { ServerDeps } from '../http/server/deps.ts'
import { takeRate } from '../http/server/rates.ts'
import { success } from '../http/server/response.ts'
import { countField, enumField, nullable, successSchema } from '../http/server/schemas.ts'
import { type CheckProgress, lastCheckRun, nextCheckAt } from './checks/daily-checks.ts'
import type { CheckRunStore } from './store.ts'

export interface CheckRouteDeps extends ServerDeps {
  store: CheckRunStore
  /** Makes the checks now. Throws `already_running`. */
  runChecks(): Promise<void>
  /** Progress of a run that was requested from this node. */
  checkProgress(): Promise<CheckProgress | undefined>
  /** Whether the service makes its checks every day. */
  dailyChecks: boolean
}

const CHECK_STATUSES = ['ok', 'warning', 'failure', 'skipped'] as const

// Less than proxies wait for a response.
const RUN_WAIT_MS = 20_000

const checkRunSchema = successSchema({
  ...timesOf('finished_at'),
  ...timesOf('next_at'),
  running: nullable(
    Type.Object({ done: countField(12), all: countField(40) }),
    'How far a run is that was requested from this node; null if there is none.',
  ),
  checks: Type.Array(
    Type.Object({
      name: Type.String({ examples: ['mx'] }),
      subject: nullable(Type.String({ examples: ['box.example'] })),
      status: enumField(CHECK_STATUSES),
      seen: Type.String(),
      fix: Type.String(),
      ...timesOf('since'),
    }),
  ),
})

export const checkRoutes = [
  adminRoute({
    method: 'GET',
    path: '/checks',
    title: 'Checks',
    description: 'The results of the last checks, of whichever node ran them.',
    output: checkRunSchema,
    handle: (_input, deps: CheckRouteDeps) => checkRunResponse(deps),
  }),
  adminRoute({
    method: 'POST',
    path: '/checks/run',
    title: 'Check now',
    description:
      'Runs the checks, and returns their results. If that takes longer than 20 seconds, the former results: then read the checks until `finished_at` changes.',
    output: checkRunSchema,
    problems: ['already_running', 'shutting_down'],
    async handle(_input, deps: CheckRouteDeps, { client }) {
      if (client !== undefined) await takeRate(deps, 'runChecks', client)
      await withTimeout(RUN_WAIT_MS, deps.runChecks())
      return await checkRunResponse(deps)
    },
  }),
]

async function checkRunResponse(deps: CheckRouteDeps) {
  const run = await lastCheckRun(deps)
  return success({
    ...timestampFields('finished_at', run?.finishedAt),
    ...timestampFields('next_at', run && deps.dailyChecks ? nextCheckAt(run) : undefined),
    running: (await deps.checkProgress()) ?? null,
    checks: (run?.checks ?? []).map(({ name, subject = null, status, seen, fix, since }) => ({
      name,
      subject,
      status,
      seen,
      fix,
      ...timestampFields('since', since),
    })),
  })
}

export async function checkFigures(deps: { store: CheckRunStore }) {
  const checks = (await lastCheckRun(deps))?.checks ?? []
  return {
    all: checks.filter(({ status }) => status !== 'skipped').length,
    failing: checks.filter(({ status }) => status === 'failure').length,
    warnings: checks.filter(({ status }) => status === 'warning').length,
  }
}
