import {
  type TLiteral,
  type TProperties,
  type TSchema,
  type TSchemaOptions,
  type TUnion,
  Type,
} from 'typebox'

/** An object with a name, by which the OpenAPI document, the page and the JavaScript client know it. */
export const named = <Fields extends TProperties>(
  $id: string,
  fields: Fields,
  options: TSchemaOptions = {},
) => Type.Object(fields, { ...options, $id })

const status = Type.Literal('success')

/** What a successful response contains, besides its status. */
export const successSchema = <Fields extends TProperties>(fields: Fields) =>
  Type.Object({ status, ...fields })

export const namedSuccess = <Fields extends TProperties>(
  name: string,
  fields: Fields,
  options?: TSchemaOptions,
) => named(name, { status, ...fields }, options)

export const nullable = <T extends TSchema>(field: T, description?: string) =>
  Type.Union([field, Type.Null()], description === undefined ? {} : { description })

const timeField = Type.String({
  description: 'YYYY-MM-DD HH:MM:SS, UTC',
  examples: ['2026-03-01 12:00:00'],
})

export const isoTimeField = Type.String({ format: 'date-time', examples: ['2026-03-01T12:00:00Z'] })

type InBothFormats<Name extends string, Field> = Record<Name | `${Name}_iso`, Field>

/** A time in both formats, as timestampFields of base/time.ts returns it. */
export function timeFields<Name extends string>(name: Name) {
  const fields = { [name]: timeField, [`${name}_iso`]: isoTimeField }
  return fields as InBothFormats<Name, typeof timeField>
}

export function nullableTimeFields<Name extends string>(name: Name, description?: string) {
  const fields = {
    [name]: nullable(timeField, description),
    [`${name}_iso`]: nullable(isoTimeField),
  }
  return fields as InBothFormats<Name, ReturnType<typeof nullable<typeof timeField>>>
}

type Literals<Words extends readonly string[]> = {
  -readonly [At in keyof Words]: TLiteral<Words[At] & string>
}

export function enumField<const Words extends readonly string[]>(
  words: Words,
  options?: TSchemaOptions,
) {
  const literals = words.map((word) => Type.Literal(word))
  return Type.Union(literals, options) as TUnion as TUnion<Literals<Words>>
}

export const countField = (example: number) => Type.Integer({ examples: [example] })

export const expiryFields = nullableTimeFields('expires_at', 'Null: never.')

/** How many of something do not work. */
export const shareSchema = Type.Object({ all: countField(3), failing: countField(0) })

export const messageSchema = namedSuccess('Confirmation', { message: Type.String() })
