import { writeFileSync } from 'node:fs'
import type { JsonSchema } from '../src/http/docs/schema-text.ts'
import { adminRoutes, documentedRoutes } from '../src/http/routes.ts'
import type { Route } from '../src/http/server/route.ts'
import { ROOT } from './sources.ts'

/** The responses of these routes as TypeScript: an interface for each schema with a name, and which route returns what. */
export function apiTypes(routes: readonly Route[]): string {
  const named = new Map<string, string>()
  const responses = routes.flatMap(({ method, path, output }) =>
    typeof output === 'string' ? [] : [`  '${method} ${path}': ${typeOf(output, named, '  ')}\n`],
  )
  return `// Generated from the schemas of the routes by build/api-types.ts.

${[...named].map(([name, type]) => `export type ${name} = ${type}\n\n`).join('')}/** The successful response of each route. */
export interface ApiResponses {
${responses.join('')}}
`
}

/** The type of a schema; those with a name are added to `named`. */
function typeOf({ $id, ...schema }: JsonSchema, named: Map<string, string>, indent = ''): string {
  if ($id !== undefined) {
    const type = typeOf(schema, named)
    if ((named.get($id) ?? type) !== type) throw new Error(`two schemas are named ${$id}`)
    named.set($id, type)
    return $id
  }
  if (schema.const !== undefined)
    return typeof schema.const === 'string' ? `'${schema.const}'` : String(schema.const)
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(one, named, indent)).join(' | ')
  if (schema.properties) return objectType(schema, named, indent)
  if (schema.items) return `${parenthesized(typeOf(schema.items, named, indent))}[]`
  return TYPE_NAMES[schema.type ?? ''] ?? 'unknown'
}

function objectType(
  { properties = {}, required = [] }: JsonSchema,
  named: Map<string, string>,
  indent: string,
): string {
  const fields = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? '' : '?'
    return `${name}${mark}: ${typeOf(field, named, `${indent}  `)}`
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

const TYPE_NAMES: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

if (import.meta.main) {
  writeFileSync(`${ROOT}web/site/api.ts`, apiTypes(documentedRoutes))
  writeFileSync(`${ROOT}web/admin/api.ts`, apiTypes(adminRoutes))
}
