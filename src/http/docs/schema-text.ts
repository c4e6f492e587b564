import type { ParamSchema } from '../server/parameters.ts'
import type { Route } from '../server/route.ts'

export function describeType({ type = '', minimum, maximum }: ParamSchema): string {
  if (type === 'boolean') return '0 or 1'
  if (type === 'array') return 'list of integers'
  if (type !== 'integer') return 'text'
  const bounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  return bounded ? `${minimum ?? 0} to ${maximum}` : 'integer'
}

/** The subset of JSON Schema that our outputs use. */
interface JsonSchema {
  type?: string
  const?: unknown
  examples?: unknown[]
  anyOf?: JsonSchema[]
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  required?: string[]
}

/** An example response: `examples` where given. */
export function sampleOf(shape: JsonSchema): unknown {
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

/** web/site/api.ts: the responses as TypeScript types, for the page. */
export function typescriptTypes(routes: readonly Route[]): string {
  const responses = routes.flatMap(({ method, path, output }) =>
    typeof output === 'string' ? [] : [`  '${method} ${path}': ${typescriptType(output, '  ')}\n`],
  )
  return `// Generated from the routes by src/http/docs/generated.test.ts. To update it, run \`npx vitest run src/http/docs --update\`.

/** The successful response of each route. */
export interface ApiResponses {
${responses.join('')}}
`
}

function typescriptType(shape: JsonSchema, indent: string): string {
  if (shape.const !== undefined)
    return typeof shape.const === 'string' ? `'${shape.const}'` : String(shape.const)
  if (shape.anyOf) return shape.anyOf.map((one) => typescriptType(one, indent)).join(' | ')
  if (shape.properties) return typescriptObject(shape, indent)
  if (shape.items) return `${parenthesized(typescriptType(shape.items, indent))}[]`
  return TYPESCRIPT_NAMES[shape.type ?? ''] ?? 'unknown'
}

function typescriptObject({ properties = {}, required = [] }: JsonSchema, indent: string): string {
  const fields = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? '' : '?'
    return `${name}${mark}: ${typescriptType(field, `${indent}  `)}`
  })
  const line = `{ ${fields.join('; ')} }`
  if (line.length <= MAX_LINE) return line
  return `{\n${fields.map((field) => `${indent}  ${field}\n`).join('')}${indent}}`
}

/** Leaves room for the indentation and the name within the line width of the formatter. */
const MAX_LINE = 64

function parenthesized(type: string): string {
  return type.includes(' | ') && !type.startsWith('{') ? `(${type})` : type
}

const TYPESCRIPT_NAMES: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}
