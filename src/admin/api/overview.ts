import { Type } from 'typebox'
import { notReadyReason, unlessUnavailable } from '../../base/jobs/outage.ts'
import { withTimeout } from '../../base/jobs/repeat.ts'
import { Problem } from '../../base/problem.ts'
import { isoTimestamp, timestampFields } from '../../base/time.ts'
import { lastCheckRun, nextCheckAt } from '../../doctor/checks/daily-checks.ts'
import { accountStatuses } from '../../gmail/accounts.ts'
import type { RouteDeps } from '../../http/deps.ts'
import { takeRate } from '../../http/server/rates.ts'
import { success } from '../../http/server/response.ts'
import type { Route } from '../../http/server/route.ts'
import {
  countField,
  enumField,
  isoTimeField,
  nullable,
  successSchema,
} from '../../mail/api/schemas.ts'
import { OPERATOR, POOL } from '../../mail/rules/session.ts'
import { SERIES_NAMES, SERIES_RANGES, type SeriesRange } from '../series/rules.ts'
import { readLevels, readSeries, type Series } from '../series/series.ts'
import { adminRoute, timesOf } from './route.ts'

const volume = Type.Object({ messages: countField(12), bytes: countField(48_000) })
const share = Type.Object({ all: countField(3), failing: countField(0) })

export const overviewRoutes: readonly Route[] = [
  adminRoute({
    method: 'GET',
    path: '/overview',
    title: 'Overview',
    description: 'What is stored now, and what needs attention.',
    output: successSchema({
      fault: nullable(Type.String(), 'Why no mail can be stored now; null if it can.'),
      warnings: Type.Array(Type.String()),
      figures: nullable(
        Type.Object({
          sessions: countField(1_200),
          stored_bytes: countField(48_000_000),
          pool: volume,
          operator_mail: volume,
          domains: Type.Object({ active: countField(2), all: countField(3) }),
          gmail_accounts: share,
          webhooks: share,
          checks: Type.Object({
            all: countField(30),
            failing: countField(0),
            warnings: countField(1),
          }),
        }),
        'Null while the store is unavailable. Live sessions and stored bytes may be a minute old.',
      ),
    }),
    async handle(_input, deps) {
      const figures = await unlessUnavailable(readFigures(deps))
      const reason = (await notReadyReason(deps)) ?? null
      return success({
        fault: figures ? reason : (reason ?? 'the store is unavailable'),
        warnings: await deps.warnings(),
        figures: figures ?? null,
      })
    },
  }),
  adminRoute({
    method: 'GET',
    path: '/series',
    title: 'Series',
    description: 'Counts over time, of all nodes.',
    input: Type.Object({
      name: Type.String({ description: `One of ${SERIES_NAMES.join(', ')}.` }),
      range: Type.String({
        description: '`1h` in minutes, `24h` in steps of five, `30d` in hours.',
      }),
    }),
    output: successSchema({
      kind: enumField(['count', 'gauge', 'quantiles']),
      unit: enumField(['count', 'bytes', 'seconds']),
      start_iso: isoTimeField,
      step_seconds: countField(60),
      lines: Type.Array(
        Type.Object({
          label: Type.String({ description: 'Such as the outcome; empty if there is only one.' }),
          values: Type.Array(nullable(Type.Number()), {
            description: 'One per step, oldest first. Null: nothing was recorded.',
          }),
        }),
      ),
    }),
    async handle(input, deps) {
      const name = SERIES_NAMES.find((one) => one === input.name)
      if (!name) throw new Problem('invalid_parameter', 'name: unknown series.')
      if (!isRange(input.range)) {
        throw new Problem('invalid_parameter', 'range: must be 1h, 24h or 30d.')
      }
      return success(seriesJson(await readSeries(deps, { name, range: input.range })))
    },
  }),
]

function isRange(text: string): text is SeriesRange {
  return Object.hasOwn(SERIES_RANGES, text)
}

function seriesJson({ kind, unit, stepSeconds, points }: Series) {
  const labels = new Set(points.flatMap(({ values }) => Object.keys(values)))
  return {
    kind,
    unit,
    start_iso: isoTimestamp(points[0]?.at ?? new Date(0)),
    step_seconds: stepSeconds,
    lines: [...labels].map((label) => ({
      label,
      values: points.map(({ values }) => values[label] ?? null),
    })),
  }
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

export const checkRoutes: readonly Route[] = [
  adminRoute({
    method: 'GET',
    path: '/checks',
    title: 'Checks',
    description: 'The results of the last checks, of whichever node ran them.',
    output: checkRunSchema,
    handle: (_input, deps) => checkRunResponse(deps),
  }),
  adminRoute({
    method: 'POST',
    path: '/checks/run',
    title: 'Check now',
    description:
      'Runs the checks, and returns their results. If that takes longer than 20 seconds, the former results: then read the checks until `finished_at` changes.',
    output: checkRunSchema,
    problems: ['already_running', 'shutting_down'],
    async handle(_input, deps, { client }) {
      if (client !== undefined) await takeRate(deps, 'runChecks', client)
      await withTimeout(RUN_WAIT_MS, deps.runChecks())
      return await checkRunResponse(deps)
    },
  }),
]

async function checkRunResponse(deps: RouteDeps) {
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

async function readFigures(deps: RouteDeps) {
  const { store, shop } = deps
  const { liveSessions, storedBytes } = await readLevels(deps)
  const domains = (await store.listDomains()).filter(({ removed }) => !removed)
  const accounts = await accountStatuses(deps)
  const checks = (await lastCheckRun(deps))?.checks ?? []
  return {
    sessions: liveSessions,
    stored_bytes: storedBytes,
    pool: await volumeOf(deps, POOL),
    operator_mail: await volumeOf(deps, OPERATOR),
    domains: { active: domains.filter(({ active }) => active).length, all: domains.length },
    gmail_accounts: {
      all: accounts.length,
      failing: accounts.filter(({ health }) => health === 'failing').length,
    },
    webhooks: await shop.countWebhooks(),
    checks: {
      all: checks.filter(({ status }) => status !== 'skipped').length,
      failing: checks.filter(({ status }) => status === 'failure').length,
      warnings: checks.filter(({ status }) => status === 'warning').length,
    },
  }
}

async function volumeOf({ store }: RouteDeps, mailbox: typeof POOL) {
  const { count, bytes } = await store.readSharedMailbox(mailbox)
  return { messages: count, bytes }
}
