import type { Static, TObject } from 'typebox'
import { Problem } from '../../core/problem.ts'
import type { Field } from '../api/field-text.ts'

/** Parameters as they came, by name: text, or any JSON; an array when one was given twice. */
export type Values = ReadonlyMap<string, unknown>

export const NO_VALUES: Values = new Map()

interface Given {
  /** The parameters of the path. */
  path: Values
  query: Values
  body: Values
  /** The token of the Authorization header. */
  bearer: string | undefined
}

/** Makes the reader of one route's parameters. It takes what the schema names and ignores all else. */
export function inputReader<I extends TObject>(schema: I): (given: Given) => Static<I> {
  const required = new Set<string>(schema.required ?? [])
  const fields: [string, Field][] = Object.entries(schema.properties)

  return (given) => {
    const input: Record<string, unknown> = {}
    for (const [name, field] of fields) {
      const value = find(name, given)
      if (value !== undefined) input[name] = checked(name, field, value)
      else if (required.has(name)) {
        throw new Problem('missing_parameter', `${name}: this parameter is missing.`)
      }
    }
    return input as Static<I>
  }
}

/** The path names what is asked for; else the body wins over the query. Empty and null count as not given. */
function find(name: string, { path, query, body, bearer }: Given): unknown {
  if (path.has(name)) return path.get(name)
  const inBody = body.get(name)
  if (isGiven(inBody)) return inBody
  const inQuery = query.get(name)
  if (isGiven(inQuery)) return inQuery
  return name === 'token' && isGiven(bearer) ? bearer : undefined
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

function checked(name: string, field: Field, value: unknown): unknown {
  if (Array.isArray(value)) throw invalid(name, 'give it once, and as one value.')
  if (field.type === 'boolean') return asFlag(name, value)
  if (field.type === 'integer') return asInteger(name, field, value)
  return asText(name, value)
}

function asText(name: string, value: unknown): string {
  if (typeof value === 'string') return value
  // So that a prefix of digits is the same in JSON as in a form.
  if (Number.isSafeInteger(value)) return String(value)
  throw invalid(name, 'give it as text.')
}

const DIGITS = /^[0-9]{1,16}$/

function asInteger(name: string, field: Field, value: unknown): number {
  const number = typeof value === 'string' && DIGITS.test(value) ? Number(value) : value
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = field
  if (!isInteger(number) || number < minimum || number > maximum) {
    throw invalid(name, `give a whole number from ${minimum} to ${maximum}.`)
  }
  // JSON has a -0.
  return number + 0
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

const FLAGS = new Map<unknown, boolean>([
  ['0', false],
  ['1', true],
  ['false', false],
  ['true', true],
  [0, false],
  [1, true],
  [false, false],
  [true, true],
])

function asFlag(name: string, value: unknown): boolean {
  const flag = FLAGS.get(value)
  if (flag === undefined) throw invalid(name, 'give 0, 1, true or false.')
  return flag
}

function invalid(name: string, what: string): Problem {
  return new Problem('invalid_parameter', `${name}: ${what}`)
}
