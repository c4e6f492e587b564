import type { TObject, TSchema } from 'typebox'
import { maskAddress, parseAddress } from '../../base/address.ts'
import { withCause } from '../../base/jobs/outage.ts'
import type { LogFacts } from '../../base/log/log.ts'
import type { ServerDeps } from './deps.ts'
import type { HttpRequest } from './request.ts'
import { type RequiresDeps, type Route, type RouteOptions, route } from './route.ts'

/** A route of the admin API: for the operator only. `path` is relative to /admin/api. */
export function adminRoute<I extends TObject, O extends TSchema, D extends ServerDeps>(
  options: Omit<RouteOptions<I, O, D>, 'api' | 'authenticate'>,
): Route & RequiresDeps<D> {
  return route<I, O, D>({
    ...options,
    path: `/admin/api${options.path}`,
    problems: ['invalid_token', 'not_allowed', ...(options.problems ?? [])],
    api: 'admin',
    authenticate: (deps, request) => deps.requireOperator(request),
    async handle(input, deps, request) {
      const made = await options.handle(input, deps, request).catch((error: unknown) => {
        throw withCause(error)
      })
      if (options.method === 'POST') logAction(deps, request, options.path, input)
      return made
    },
  })
}

const SUBJECTS = ['name', 'id', 'entry', 'address'] as const

/** Who did what, and to what; without complete addresses. */
export function logAction(
  { log }: Pick<ServerDeps, 'log'>,
  { client, sourceAddress }: HttpRequest,
  action: string,
  input: Readonly<Record<string, unknown>> = {},
): void {
  const subjects: LogFacts = {}
  for (const name of SUBJECTS) {
    const value = input[name]
    const address = typeof value === 'string' ? parseAddress(value.trim()) : undefined
    if (address) subjects[name] = maskAddress(address)
    else if (typeof value === 'string' || typeof value === 'number') subjects[name] = value
  }
  log.info({ action, ...subjects, client: client ?? sourceAddress() }, 'operator action')
}
