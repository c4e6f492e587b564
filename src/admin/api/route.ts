import { type TObject, type TSchema, Type } from 'typebox'
import { maskAddress, parseAddress } from '../../base/address.ts'
import type { LogFacts } from '../../base/log/log.ts'
import { Problem } from '../../base/problem.ts'
import type { RouteDeps } from '../../http/deps.ts'
import { isOwnOrigin } from '../../http/server/client.ts'
import {
  bearerToken,
  cookieScope,
  cookieValue,
  isOperatorRequest,
  setCookieHeader,
} from '../../http/server/credentials.ts'
import { type HttpRequest, type Route, type RouteOptions, route } from '../../http/server/route.ts'
import { isoTimeField, nullable, timeField } from '../../mail/api/schemas.ts'
import { isSignedIn } from '../session.ts'

/** A route of the admin API: for the operator only. `path` is relative to /admin/api. */
export function adminRoute<I extends TObject, O extends TSchema>(
  options: Omit<RouteOptions<I, O>, 'api' | 'authenticate'>,
): Route {
  return route<I, O>({
    ...options,
    path: `/admin/api${options.path}`,
    problems: ['invalid_token', 'not_allowed', ...(options.problems ?? [])],
    api: 'admin',
    authenticate: requireOperator,
    async handle(input, deps, request) {
      const made = await options.handle(input, deps, request)
      if (options.method === 'POST') logAction(deps, request, options.path, input)
      return made
    },
  })
}

const SUBJECTS = ['name', 'id', 'entry', 'address'] as const

/** Who did what, and to what; without complete addresses. */
export function logAction(
  { log }: RouteDeps,
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

/**
 * The admin token as a Bearer token, or the cookie of the page. Browsers send the cookie by themselves, so with it a change must
 * come from one of our own pages: they name their origin with every POST.
 */
async function requireOperator(deps: RouteDeps, request: HttpRequest): Promise<undefined> {
  if (bearerToken(request.headers.authorization) !== undefined) {
    if (await isOperatorRequest(deps, request)) return
    throw wrongToken()
  }
  if (request.method === 'POST' && !isOwnPage(request, deps.baseUrl)) {
    throw new Problem(
      'not_allowed',
      'Origin: not the address of this service. If it is, set MAYFLY_BASE_URL to it.',
    )
  }
  const id = signInId(request)
  if (id !== undefined && (await isSignedIn(deps, id))) return
  throw new Problem('invalid_token', 'Sign in, or send the admin token as Authorization: Bearer.')
}

export function wrongToken(): Problem {
  return new Problem('invalid_token', 'The admin token is wrong.')
}

function isOwnPage(request: HttpRequest, baseUrl: string): boolean {
  const site = request.headers['sec-fetch-site']
  return (site === undefined || site === 'same-origin') && isOwnOrigin(request, baseUrl)
}

/** From the cookie, not verified. */
export function signInId({ headers, secure }: HttpRequest): string | undefined {
  return cookieValue(headers.cookie, scope(secure()).name)
}

/** An empty id deletes the cookie. */
export function signInCookie(secure: boolean, id: string, maxAgeSeconds: number) {
  const header = setCookieHeader({ ...scope(secure), value: id, maxAgeSeconds, secure })
  return { 'set-cookie': header }
}

const scope = (secure: boolean) => cookieScope(secure, 'mayfly-admin', '/admin')

export const DEFAULT_LIMIT = 50

/** What a list takes; it returns `next`. */
export const pageFields = {
  before: Type.Optional(Type.String({ description: 'The `next` of the previous page.' })),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: `Maximum number of entries; default ${DEFAULT_LIMIT}.`,
    }),
  ),
}

export const nextField = nullable(
  Type.String({ examples: ['1772366400000.key_…'] }),
  'For `before`, to get the next page; null if this is the last.',
)

/** Where a page ends: what the list is ordered by, and the id among entries that are equal in it. */
interface Cursor {
  rank: number
  id: string
}

// Of a Date, and more than any id.
const MAX_RANK = 8.64e15

/** A page of a list. `read` gets one more than the limit, to know whether there is another page. */
export async function readPage<T>(
  { before, limit = DEFAULT_LIMIT }: { before?: string; limit?: number },
  read: (page: { before: Cursor | undefined; limit: number }) => Promise<readonly T[]>,
  cursorOf: (last: T) => { rank: number; id?: string | number },
): Promise<{ entries: T[]; next: string | null }> {
  const found = await read({ before: parseCursor(before), limit: limit + 1 })
  const entries = found.slice(0, limit)
  const last = entries.at(-1)
  if (found.length === entries.length || last === undefined) return { entries, next: null }
  const { rank, id } = cursorOf(last)
  return { entries, next: id === undefined ? `${rank}` : `${rank}.${id}` }
}

export function parseCursor(before: string | undefined): Cursor | undefined {
  if (before === undefined) return undefined
  const [, rank = '', id = ''] = /^(\d{1,16})(?:\.(\w{1,64}))?$/.exec(before) ?? []
  if (rank === '' || Number(rank) > MAX_RANK) throw invalidCursor()
  return { rank: Number(rank), id }
}

export function invalidCursor(): Problem {
  return new Problem('invalid_parameter', 'before: must be the next of a previous page.')
}

interface Created {
  createdAt: Date
  id: string
}

/** The same of a list by creation. */
export async function readCreatedPage<T extends Created>(
  input: { before?: string; limit?: number },
  read: (page: { before: Created | undefined; limit: number }) => Promise<readonly T[]>,
): Promise<{ entries: T[]; next: string | null }> {
  return await readPage(
    input,
    ({ before, limit }) =>
      read({ limit, before: before && { createdAt: new Date(before.rank), id: before.id } }),
    ({ createdAt, id }) => ({ rank: createdAt.getTime(), id }),
  )
}

type Times<Name extends string> = Record<
  Name | `${Name}_iso`,
  ReturnType<typeof nullable<typeof timeField>>
>

/** An optional time in both formats, as timestampFields of base/time.ts returns it. */
export function timesOf<Name extends string>(name: Name): Times<Name> {
  return { [name]: nullable(timeField), [`${name}_iso`]: nullable(isoTimeField) } as Times<Name>
}
