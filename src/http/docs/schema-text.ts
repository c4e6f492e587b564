import type { ProblemCode } from '../../base/problem.ts'
import type { ParamSchema } from '../server/parameters.ts'
import { problemStatus } from '../server/problem-response.ts'
import type { HeaderField, Route } from '../server/route.ts'
import { isRequired, problemsOf } from './openapi.ts'

// What the reference says about a route, in docs/api.md and on the page.

/** In OpenAPI it is a security scheme. */
function keyHeader({ api, acceptsKey }: Route): HeaderField[] {
  const name = 'APIKey'
  if (api === 'keyed') {
    const description = 'Your key. X-API-Key and Authorization: Bearer also work.'
    return [{ name, required: true, description }]
  }
  const description = 'Your key, to read the mail with /emails. X-API-Key also works.'
  return acceptsKey ? [{ name, required: false, description }] : []
}

/** Headers, then parameters. */
export function parameterRows(route: Route) {
  const { input, requestHeaders = [] } = route
  const fields = Object.entries(input.properties).map(([name, schema]) => {
    const field: ParamSchema = schema
    const { description = '' } = field
    return { name, required: isRequired(input, name), type: describeType(field), description }
  })
  const headers = [...keyHeader(route), ...requestHeaders]
  return [...headers.map((header) => ({ ...header, type: 'header' })), ...fields]
}

/** The problems of a route, by status. */
export function problemRows(route: Route): [status: number, codes: ProblemCode[]][] {
  return [...Map.groupBy(problemsOf(route), (code) => problemStatus[code])]
}

/** An example of its JSON; undefined if it responds with anything else. */
export function sampleText({ output }: Route): string | undefined {
  return typeof output === 'string' ? undefined : JSON.stringify(sampleOf(output), undefined, 2)
}

function describeType({ type = '', items, minimum, maximum }: ParamSchema): string {
  if (type === 'boolean') return '0 or 1'
  if (type === 'array') return items?.type === 'integer' ? 'list of integers' : 'list'
  if (type !== 'integer') return 'text'
  const bounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  return bounded ? `${minimum ?? 0} to ${maximum}` : 'integer'
}

/** The subset of JSON Schema that our outputs use. */
export interface JsonSchema {
  /** The name of what it describes. */
  $id?: string
  type?: string
  const?: unknown
  examples?: unknown[]
  anyOf?: JsonSchema[]
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  required?: string[]
}

/** An example response: `examples` where given. */
function sampleOf(shape: JsonSchema): unknown {
  if (shape.examples) return shape.examples[0]
  if (shape.const !== undefined) return shape.const
  if (shape.anyOf) return sampleOf(shape.anyOf[0] ?? {})
  if (shape.properties) {
    const fields = Object.entries(shape.properties)
    return Object.fromEntries(fields.map(([name, field]) => [name, sampleOf(field)]))
  }
  if (shape.items) return [sampleOf(shape.items)].filter((item) => item !== null)
  return SAMPLE_VALUES[shape.type ?? ''] ?? null
}

const SAMPLE_VALUES: Record<string, unknown> = { string: '…', integer: 0, boolean: false }
