import type { JsonSchema } from '../src/http/docs/schema-text.ts'
import type { Route } from '../src/http/server/route.ts'

/** The named schemas in the responses of these routes, as a TypedDict each, for Python 3.9. */
export function pythonTypes(routes: readonly Route[]): string {
  const classes = new Map<string, string>()
  for (const { output } of routes) if (typeof output !== 'string') addNamed(output, classes)
  return `"""Generated from the schemas of the routes by build/python-types.ts."""

from typing import Literal, Optional, TypedDict, Union
${[...classes.values()].map((one) => `\n\n${one}\n`).join('')}`
}

/** Responses themselves need no name, unless they have one. */
function addNamed(schema: JsonSchema, classes: Map<string, string>): void {
  if (schema.$id !== undefined) {
    typeOf(schema, schema.$id, classes)
    return
  }
  for (const field of Object.values(schema.properties ?? {})) addNamed(field, classes)
  for (const one of [...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])])
    addNamed(one, classes)
}

/** `path` names an object that has no name of its own. */
function typeOf(schema: JsonSchema, path: string, classes: Map<string, string>): string {
  if (schema.const !== undefined) return `Literal[${literal(schema.const)}]`
  if (schema.anyOf) return unionOf(schema.anyOf, path, classes)
  if (schema.properties) return addClass(schema, schema.$id ?? path, classes)
  if (schema.items) return `list[${typeOf(schema.items, path, classes)}]`
  return TYPE_NAMES[schema.type ?? ''] ?? 'object'
}

function unionOf(options: readonly JsonSchema[], path: string, classes: Map<string, string>) {
  if (options.every((one) => one.const !== undefined))
    return `Literal[${options.map((one) => literal(one.const)).join(', ')}]`
  const isNull = (one: JsonSchema) => one.type === 'null'
  const types = options.filter((one) => !isNull(one)).map((one) => typeOf(one, path, classes))
  const type = types.length === 1 ? types.join() : `Union[${types.join(', ')}]`
  return options.some(isNull) ? `Optional[${type}]` : type
}

/** Fields that may be missing are in a class of their own: NotRequired is newer than Python 3.9. */
function addClass(
  { properties = {}, required = [] }: JsonSchema,
  name: string,
  classes: Map<string, string>,
): string {
  const fields = Object.entries(properties).map(([field, schema]) => ({
    field,
    type: typeOf(schema, `${name}${capitalized(field)}`, classes),
    isRequired: required.includes(field),
  }))
  const optional = fields.filter(({ isRequired }) => !isRequired)
  const base = optional.length === 0 ? name : `_${name}Required`
  const needed = fields.filter(({ isRequired }) => isRequired)
  const parts = [typedDict(base, needed)]
  if (optional.length > 0) {
    const lines = optional.map(({ field, type }) => `    ${field}: ${type}`)
    parts.push(`class ${name}(${base}, total=False):\n${lines.join('\n')}`)
  }
  classes.set(name, parts.join('\n\n\n'))
  return name
}

const KEYWORDS = ['from']

function typedDict(name: string, fields: readonly { field: string; type: string }[]): string {
  if (fields.some(({ field }) => KEYWORDS.includes(field))) {
    const lines = fields.map(({ field, type }) => `        "${field}": ${type},`)
    return `${name} = TypedDict(\n    "${name}",\n    {\n${lines.join('\n')}\n    },\n)`
  }
  const lines = fields.map(({ field, type }) => `    ${field}: ${type}`)
  return `class ${name}(TypedDict):\n${lines.join('\n')}`
}

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

function literal(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return JSON.stringify(value)
}

const TYPE_NAMES: Record<string, string> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
}
