import { Type } from 'typebox'
import type { CheckStatus } from '../base/check-result.ts'
import { withTimeout } from '../base/jobs/repeat.ts'
import { timestampFields } from '../base/time.ts'
import { adminRoute } from '../http/server/admin-route.ts'
import type { ServerDeps } from '../http/server/deps.ts'
import { takeRate } from '../http/server/rates.ts'
import { success } from '../http/server/response.ts'
import {
  countField,
  enumField,
  named,
  namedSuccess,
  nullable,
  nullableTimeFields,
} from '../http/server/schemas.ts'
import { type CheckProgress, nextCheckAt } from './daily-checks.ts'
import type { CheckRunStore } from './store.ts'

export interface CheckRouteDeps extends ServerDeps {
  store: CheckRunStore
  /** `runChecks` makes the checks now, or throws `already_running`; `checkProgress` is that of a run requested from this node. */
  callMain(name: 'runChecks' | 'checkProgress'): Promise<unknown>
  /** Whether the service makes its checks every day. */
  config: { dailyChecks: boolean }
}

const CHECK_STATUSES = ['ok', 'warning', 'failure', 'skipped'] as const

// Less than proxies wait for a response.
const RUN_WAIT_MS = 20_000

const checkRunSchema = namedSuccess('CheckRun', {
  ...nullableTimeFields('finished_at'),
  ...nullableTimeFields('next_at'),
  running: nullable(
    Type.Object({ done: countField(12), all: countField(40) }),
    'How far a run is that was requested from this node; null if there is none.',
  ),
  checks: Type.Array(
    named('Check', {
      name: Type.String({ examples: ['mx'] }),
      subject: nullable(Type.String({ examples: ['box.example'] })),
      status: enumField(CHECK_STATUSES),
      seen: Type.String(),
      fix: Type.String(),
      ...nullableTimeFields('since'),
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
      await withTimeout(RUN_WAIT_MS, deps.callMain('runChecks'))
      return await checkRunResponse(deps)
    },
  }),
]

async function checkRunResponse(deps: CheckRouteDeps) {
  const run = await deps.store.readCheckRun()
  return success({
    ...timestampFields('finished_at', run?.finishedAt),
    ...timestampFields('next_at', run && deps.config.dailyChecks ? nextCheckAt(run) : undefined),
    running: ((await deps.callMain('checkProgress')) as CheckProgress | undefined) ?? null,
    checks: (run?.checks ?? []).map(({ name, subject = null, since, ...found }) => {
      return { name, subject, ...found, ...timestampFields('since', since) }
    }),
  })
}

export const checkFigures = {
  checks: Type.Object({ all: countField(30), failing: countField(0), warnings: countField(1) }),
}

export async function readCheckFigures({ store }: CheckFigureDeps) {
  const results = (await store.readCheckRun())?.checks ?? []
  const count = (...wanted: CheckStatus[]) =>
    results.filter(({ status }) => wanted.includes(status)).length
  const [failing, warnings] = [count('failure'), count('warning')]
  return { checks: { all: count('ok') + failing + warnings, failing, warnings } }
}

export interface CheckFigureDeps {
  store: CheckRunStore
}
