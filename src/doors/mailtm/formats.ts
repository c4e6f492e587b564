import { Problem } from '../../base/problem.ts'
import { type HttpResponse, json } from '../../http/server/response.ts'

/** Where the API is. Its own links start below, as clients add them to their base URL. */
export const BASE = '/compat/mailtm'

/** An id as 24 hexadecimal digits, which is what mail.tm has. */
export function hexId(id: number): string {
  return id.toString(16).padStart(24, '0')
}

/** Throws `not_found`. */
export function parseHexId(text: string): number {
  const id = /^0{10}[0-9a-f]{14}$/.test(text) ? Number.parseInt(text, 16) : Number.NaN
  if (Number.isSafeInteger(id)) return id
  throw new Problem('not_found', 'Not found.')
}

export function timeText(time: Date): string {
  return `${time.toISOString().slice(0, 19)}+00:00`
}

const MAX_MEDIA_RANGES = 100

/**
 * Whether the client prefers JSON without links. As with mail.tm, JSON-LD wins a tie: the default of axios, which is
 * `application/json, text/plain, *\/*`, gets it.
 */
export function isPlainJson(accept = '*/*'): boolean {
  const ranges = accept.split(',', MAX_MEDIA_RANGES).map((range) => range.trim().toLowerCase())
  const quality = (type: string) => {
    for (const name of [type, 'application/*', '*/*']) {
      const found = ranges.find((range) => range === name || range.startsWith(`${name};`))
      if (found) return Number(/;\s*q=([\d.]+)/.exec(found)?.[1] ?? 1)
    }
    return 0
  }
  return quality('application/json') > quality('application/ld+json')
}

export function mediaType(accept: string | undefined): string {
  return `application/${isPlainJson(accept) ? 'json' : 'ld+json'}; charset=utf-8`
}

interface Request {
  headers: { accept?: string | undefined }
}

interface Resource {
  type: 'Account' | 'Domain' | 'Message' | 'Source'
  /** Its link. */
  path: string
  value: object
}

/** The value of a response with one resource. */
export function resourceValue({ headers: { accept } }: Request, resource: Resource): object {
  if (isPlainJson(accept)) return resource.value
  return { '@context': `/contexts/${resource.type}`, ...linked(resource) }
}

function linked({ path, type, value }: Resource): object {
  return { '@id': path, '@type': type, ...value }
}

export function resourceResponse(request: Request, resource: Resource, status = 200): HttpResponse {
  const headers = { 'content-type': mediaType(request.headers.accept) }
  return { ...json(resourceValue(request, resource), headers), status }
}

export const PAGE_SIZE = 30

interface Collection {
  type: Resource['type']
  path: string
  /** Of this page. */
  members: readonly Omit<Resource, 'type'>[]
  total: number
  page: number
}

/** JSON has the members alone. */
export function collectionResponse(
  { headers: { accept } }: Request,
  { type, path, members, total, page }: Collection,
): HttpResponse {
  const headers = { 'content-type': mediaType(accept) }
  if (isPlainJson(accept))
    return json(
      members.map(({ value }) => value),
      headers,
    )
  return json(
    {
      '@context': `/contexts/${type}`,
      '@id': path,
      '@type': 'hydra:Collection',
      'hydra:member': members.map((member) => linked({ type, ...member })),
      'hydra:totalItems': total,
      ...(total > PAGE_SIZE && { 'hydra:view': view(path, page, Math.ceil(total / PAGE_SIZE)) }),
    },
    headers,
  )
}

function view(path: string, page: number, last: number): object {
  const at = (number: number) => `${path}?page=${number}`
  return {
    '@id': at(page),
    '@type': 'hydra:PartialCollectionView',
    'hydra:first': at(1),
    'hydra:last': at(last),
    ...(page > 1 && { 'hydra:previous': at(page - 1) }),
    ...(page < last && { 'hydra:next': at(page + 1) }),
  }
}
