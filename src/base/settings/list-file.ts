import { createRequire } from 'node:module'
import type { XStatic } from 'typebox/schema'
import { readIfExists } from './settings.ts'

export const TEXT = { type: 'string', minLength: 1 } as const

export const FLAG = { type: 'boolean' } as const

export const COUNT = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const

const load = createRequire(import.meta.url)

/** Errors name the field and never quote its value: it may be a secret. */
export function readList<const S extends object>(
  path: string,
  noun: string,
  schema: S,
): XStatic<S>[] {
  const text = readIfExists(path)
  if (text === undefined) throw new Error(`file ${path} does not exist`)
  const list = parseJson(text)
  if (!Array.isArray(list)) throw new Error(`the file must contain a JSON list of ${noun}s`)
  // Loaded only if there is a file: it would slow every start by about 100 ms.
  const { schemaErrors }: typeof import('./schema-errors.ts') = load('./schema-errors.ts')
  return list.map((entry: unknown, index) => {
    const [isValid, errors] = schemaErrors(schema, entry)
    if (!isValid) throw new Error(`${noun} ${index + 1}${problemOf(errors)}`)
    return entry as XStatic<S>
  })
}

type SchemaErrors = ReturnType<typeof import('./schema-errors.ts')['schemaErrors']>[1]

function problemOf(errors: SchemaErrors): string {
  // For an unknown field the first one says only "schema is false".
  const error = errors.find(({ keyword }) => keyword !== 'boolean')
  if (!error) return ' is invalid'
  const path = error.instancePath.slice(1).replaceAll('/', '.')
  const fieldPath = (name = '') => (path === '' ? name : `${path}.${name}`)
  if (error.keyword === 'additionalProperties') {
    return `: unknown field ${fieldPath(error.params.additionalProperties[0])}`
  }
  if (error.keyword === 'required') {
    return `: ${fieldPath(error.params.requiredProperties[0])} is missing`
  }
  return path === '' ? ` ${error.message}` : `: ${path} ${error.message}`
}

/** Null counts as missing. Undefined if it is not JSON: the message of JSON.parse would quote the text. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, (_name, value: unknown) => value ?? undefined)
  } catch {
    return undefined
  }
}
