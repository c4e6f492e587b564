import { Type } from 'typebox'
import { timestampFields } from '../../base/time.ts'
import { apiKeyOf } from '../../http/server/credentials.ts'
import { success } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import {
  countField,
  enumField,
  expiryFields,
  named,
  namedSuccess,
  nullable,
  timeFields,
} from '../../http/server/schemas.ts'
import { identifyKey } from '../authenticate-key.ts'
import type { KeyRouteDeps } from '../deps.ts'
import { keyUsageReport, rollPresentedKey } from '../keys.ts'
import { type DomainWarning, remainingQuota, utcDayText } from '../rules.ts'
import { authenticatedKey, callerOf } from './quota-headers.ts'

export const warningSchema = named('DomainWarning', {
  code: enumField(['record_missing', 'key_stopped', 'key_expired', 'key_expires']),
  domain: nullable(Type.String({ examples: ['corp.example'] }), 'Null: all domains of the key.'),
  ...timeFields('at'),
})

export function warningJson({ code, domain, at }: DomainWarning) {
  return { code, domain: domain ?? null, ...timestampFields('at', at) }
}

export const usageRoute = route({
  method: 'GET',
  path: '/usage',
  name: 'get-usage',
  title: 'Key usage',
  description:
    'The used and remaining requests of your key, with daily counts for the last 30 days. Free, and available even if the quota is exhausted or the plan has expired.',
  output: namedSuccess('Usage', {
    plan: Type.String({ examples: ['business'] }),
    label: Type.String({ examples: ['my robot'] }),
    prefix: Type.String({
      description: 'The first characters of your key.',
      examples: ['mf_live_4fKq'],
    }),
    state: Type.String({
      description:
        'active, or why /emails would refuse the key: daily_limit, quota_exhausted, plan_expired or stopped.',
      examples: ['active'],
    }),
    requests: countField(100_000),
    used: countField(1_500),
    remaining: countField(98_500),
    per_day: nullable(countField(1_000), 'Null: no daily limit.'),
    used_today: countField(12),
    remaining_today: nullable(countField(988), 'Null: no daily limit.'),
    ...timeFields('resets_at'),
    ...expiryFields,
    days: Type.Array(
      Type.Object({
        date: Type.String({ examples: ['2026-03-01'] }),
        requests: countField(12),
      }),
      { description: '30 UTC days, oldest first, including today.' },
    ),
    domains: Type.Object(
      { limit: countField(5), used: countField(1) },
      { description: 'Domains of its own that the key can have, and those it has.' },
    ),
    warnings: Type.Array(warningSchema, {
      description: 'What needs attention before mail to these domains is refused.',
    }),
  }),
  problems: ['invalid_key'],
  api: 'keyed',
  authenticate: async (deps: KeyRouteDeps, request) =>
    await identifyKey(deps, callerOf(deps, request)),
  async handle(_input, deps: KeyRouteDeps, request) {
    const key = authenticatedKey(request)
    const { state, resetsAt, days } = await keyUsageReport(deps, key)
    const { all, today = null } = remainingQuota(key)
    const { limit, used, warnings } = await deps.domainUsage(key)
    return success({
      plan: key.plan,
      label: key.label,
      prefix: key.prefix,
      state,
      requests: key.maxRequests,
      used: key.used,
      remaining: all,
      per_day: key.maxPerDay ?? null,
      used_today: key.usedToday,
      remaining_today: today,
      ...timestampFields('resets_at', resetsAt),
      ...timestampFields('expires_at', key.expiresAt),
      days: days.map(({ day, count }) => ({ date: utcDayText(day), requests: count })),
      domains: { limit, used },
      warnings: warnings.map(warningJson),
    })
  },
})

export const rollKeyRoute = route({
  method: 'POST',
  path: '/api/roll-key',
  title: 'Roll a key',
  description:
    'Returns a new key in place of the one in the header. The old key keeps working until former_until, 24 hours from now; both share the plan and its counters. The new key is shown only here. A key can be rolled once every 24 hours: while the old key works, both get 409. Free, and available even if the quota is exhausted.',
  output: namedSuccess('RolledKey', {
    key: Type.String({ examples: ['45 characters, to be kept secret'] }),
    key_id: Type.String({ examples: ['key_1uQmB0cZ7yR5tVd9KfXw3e'] }),
    prefix: Type.String({
      description: 'The first characters of both keys.',
      examples: ['mf_live_4fKq'],
    }),
    ...timeFields('former_until'),
  }),
  problems: ['invalid_key', 'already_rolled'],
  rate: 'rollKey',
  api: 'keyed',
  authenticate: async (deps: KeyRouteDeps, request) =>
    await identifyKey(deps, callerOf(deps, request)),
  async handle(_input, deps: KeyRouteDeps, request) {
    const key = authenticatedKey(request)
    const presented = apiKeyOf(request.headers) ?? ''
    const { secret, oldUntil } = await rollPresentedKey(deps, key, presented)
    return success({
      key: secret,
      key_id: key.id,
      prefix: key.prefix,
      ...timestampFields('former_until', oldUntil),
    })
  },
})
