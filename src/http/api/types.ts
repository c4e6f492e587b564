import type { Route } from '../server/route.ts'

/** The little of JSON Schema that our outputs are made of. */
interface Shape {
  type?: string
  const?: unknown
  anyOf?: Shape[]
  items?: Shape
  properties?: Record<string, Shape>
  required?: string[]
}

/** web/site/api.ts: what each route answers, as types for the page. */
export function apiTypes(routes: readonly Route[]): string {
  const answers = routes.flatMap(({ method, path, output }) =>
    typeof output === 'string' ? [] : [`  '${method} ${path}': ${typeText(output, '  ')}\n`],
  )
  return `// Made from the routes by src/http/api/types.test.ts; after a change run \`npx vitest run src/http/api/types --update\`.

/** What a success of each route is. */
export interface Answers {
${answers.join('')}}
`
}

function typeText(shape: Shape, indent: string): string {
  if (shape.const !== undefined)
    return typeof shape.const === 'string' ? `'${shape.const}'` : String(shape.const)
  if (shape.anyOf) return shape.anyOf.map((one) => typeText(one, indent)).join(' | ')
  if (shape.properties) return objectText(shape, indent)
  if (shape.items) return `${wrapped(typeText(shape.items, indent))}[]`
  return NAMES[shape.type ?? ''] ?? 'unknown'
}

function objectText({ properties = {}, required = [] }: Shape, indent: string): string {
  const fields = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? '' : '?'
    return `${indent}  ${name}${mark}: ${typeText(field, `${indent}  `)}\n`
  })
  return `{\n${fields.join('')}${indent}}`
}

function wrapped(type: string): string {
  return type.includes(' | ') && !type.startsWith('{') ? `(${type})` : type
}

const NAMES: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}
