import type { TSchema } from 'typebox'

/** The little of JSON Schema that our outputs are made of. */
interface Shape {
  type?: string
  const?: unknown
  examples?: unknown[]
  anyOf?: Shape[]
  items?: Shape
  properties?: Record<string, Shape>
}

/** What an answer of this schema may look like: its own example where it has one. */
export function sampleOf(schema: TSchema): unknown {
  return sample(schema)
}

function sample(shape: Shape): unknown {
  if (shape.examples) return shape.examples[0]
  if (shape.const !== undefined) return shape.const
  if (shape.anyOf) return sample(shape.anyOf[0] ?? {})
  if (shape.properties) {
    const fields = Object.entries(shape.properties)
    return Object.fromEntries(fields.map(([name, field]) => [name, sample(field)]))
  }
  if (shape.items) return isBlank(shape.items) ? [] : [sample(shape.items)]
  return BLANKS[shape.type ?? ''] ?? null
}

const BLANKS: Record<string, unknown> = { string: '…', integer: 0, boolean: false }

function isBlank(shape: Shape): boolean {
  return sample(shape) === null
}
