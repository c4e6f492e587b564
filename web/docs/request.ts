import { shellText } from '../key/sample-texts.ts'
import type { Field, Operation } from './operation.ts'

/** One call, ready to be sent. */
export interface ApiRequest {
  method: 'GET' | 'POST'
  /** With its query, if it has one. */
  path: string
  headers: Record<string, string>
  /** Of a POST. */
  form: URLSearchParams | undefined
}

/** What is left empty is not given. */
export function requestOf(
  { method, path, fields, opens }: Operation,
  values: Readonly<Record<string, string>>,
  secret: string,
): ApiRequest {
  const given = (place: Field['place']) =>
    fields
      .filter((field) => field.place === place)
      .map(({ name }): [string, string] => [name, (values[name] ?? '').trim()])
      .filter(([, value]) => value !== '')
  const parts = new Map(given('path'))
  const address = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parts.get(name) ?? ''))
  const query = new URLSearchParams(given('query'))
  return {
    method,
    path: query.size > 0 ? `${address}?${query}` : address,
    headers: { ...Object.fromEntries(given('header')), ...openerHeader(opens, secret) },
    form: method === 'POST' ? new URLSearchParams(given('form')) : undefined,
  }
}

function openerHeader(opens: Operation['opens'], secret: string): Record<string, string> {
  if (secret === '') return {}
  return opens === 'key' ? { APIKey: secret } : { Authorization: `Bearer ${secret}` }
}

/** The same call for a terminal. */
export function curlLine(
  { method, path, headers, form }: ApiRequest,
  site: string,
  streams: boolean,
) {
  const parts = [
    `curl${streams ? ' -N' : ''}${method === 'POST' ? ' -X POST' : ''}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${shellText(`${name}: ${value}`)}`),
    ...[...(form ?? [])].map(([name, value]) => `-d ${shellText(String(one(name, value)))}`),
    /[?&]/.test(path) ? shellText(`${site}${path}`) : `${site}${path}`,
  ]
  return parts.join(' \\\n  ')
}

function one(name: string, value: string): URLSearchParams {
  return new URLSearchParams([[name, value]])
}
