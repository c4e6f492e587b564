import { Type } from 'typebox'
import { notReadyReason, unlessUnavailable } from '../../base/jobs/outage.ts'
import { Problem } from '../../base/problem.ts'
import { isoTimestamp } from '../../base/time.ts'
import { adminRoute } from '../../http/server/admin-route.ts'
import { success } from '../../http/server/response.ts'
import {
  countField,
  enumField,
  isoTimeField,
  named,
  nullable,
  successSchema,
} from '../../http/server/schemas.ts'
import { OPERATOR, POOL } from '../../mail/rules/session.ts'
import type { AdminDeps } from '../deps.ts'
import { type FigureDeps, featureFigures, readFeatureFigures } from '../figures.ts'
import { SERIES_NAMES, SERIES_RANGES, type SeriesName, type SeriesRange } from '../series/rules.ts'
import { readLevels, readSeries } from '../series/series.ts'

const volume = Type.Object({ messages: countField(12), bytes: countField(48_000) })

type OverviewDeps = AdminDeps & FigureDeps

const range = Type.String({
  description: '`1h` in minutes, `24h` in steps of five, `30d` in hours.',
})

const seriesName = Type.Unsafe<SeriesName>(enumField(SERIES_NAMES))

const seriesFields = {
  kind: enumField(['count', 'gauge', 'quantiles']),
  unit: enumField(['count', 'bytes', 'seconds']),
  start_iso: isoTimeField,
  step_seconds: countField(60),
  lines: Type.Array(
    named('SeriesLine', {
      label: Type.String({ description: 'Such as the outcome; empty if there is only one.' }),
      values: Type.Array(nullable(Type.Number()), {
        description: 'One per step, oldest first. Null: nothing was recorded.',
      }),
    }),
  ),
}

export const overviewRoutes = [
  adminRoute({
    method: 'GET',
    path: '/overview',
    title: 'Overview',
    description: 'What is stored now, and what needs attention; with `range`, also all series.',
    input: Type.Object({ range: Type.Optional(range) }),
    output: successSchema({
      fault: nullable(Type.String(), 'Why no mail can be stored now; null if it can.'),
      warnings: Type.Array(Type.String()),
      figures: nullable(
        named('Figures', {
          sessions: countField(1_200),
          stored_bytes: countField(48_000_000),
          pool: volume,
          operator_mail: volume,
          domains: Type.Object({ active: countField(2), all: countField(3) }),
          ...featureFigures,
        }),
        'Null while the store is unavailable. Live sessions and stored bytes may be a minute old.',
      ),
      series: Type.Array(named('Series', { name: seriesName, ...seriesFields })),
    }),
    async handle(input, deps: OverviewDeps) {
      const range = input.range === undefined ? undefined : rangeOf(input.range)
      const figures = await unlessUnavailable(readFigures(deps))
      const series = range && figures && (await unlessUnavailable(readAllSeries(deps, range)))
      const isComplete = figures && (series || !range)
      return success({
        fault: (await notReadyReason(deps)) ?? (isComplete ? null : 'the store is unavailable'),
        warnings: await deps.warnings(),
        figures: figures ?? null,
        series: series ?? [],
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
      range,
    }),
    output: successSchema(seriesFields),
    async handle(input, deps: AdminDeps) {
      const name = SERIES_NAMES.find((one) => one === input.name)
      if (!name) throw new Problem('invalid_parameter', 'name: unknown series.')
      return success(seriesJson(await readSeries(deps, { name, range: rangeOf(input.range) })))
    },
  }),
]

function rangeOf(text: string): SeriesRange {
  if (Object.hasOwn(SERIES_RANGES, text)) return text as SeriesRange
  throw new Problem('invalid_parameter', 'range: must be 1h, 24h or 30d.')
}

async function readAllSeries(deps: AdminDeps, range: SeriesRange) {
  const all = await Promise.all(SERIES_NAMES.map((name) => readSeries(deps, { name, range })))
  return all.map((series) => ({ name: series.name, ...seriesJson(series) }))
}

function seriesJson({ kind, unit, stepSeconds, points }: Awaited<ReturnType<typeof readSeries>>) {
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

async function readFigures(deps: OverviewDeps) {
  const { store } = deps
  const { liveSessions, storedBytes } = await readLevels(deps)
  const domains = (await store.listDomains()).filter(({ removed }) => !removed)
  return {
    sessions: liveSessions,
    stored_bytes: storedBytes,
    pool: await volumeOf(deps, POOL),
    operator_mail: await volumeOf(deps, OPERATOR),
    domains: { active: domains.filter(({ active }) => active).length, all: domains.length },
    ...(await readFeatureFigures(deps)),
  }
}

async function volumeOf({ store }: AdminDeps, mailbox: typeof POOL) {
  const { count, bytes } = await store.readSharedMailbox(mailbox)
  return { messages: count, bytes }
}
