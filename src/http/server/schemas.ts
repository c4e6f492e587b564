import { type TLiteral, type TProperties, type TSchema, type TUnion, Type } from 'typebox'

/** What a successful response contains, besides its status. */
export const successSchema = <Fields extends TProperties>(fields: Fields) =>
  Type.Object({ status: Type.Literal('success'), ...fields })

export const timeField = Type.String({
  description: 'YYYY-MM-DD HH:MM:SS, UTC',
  examples: ['2026-03-01 12:00:00'],
})

export const isoTimeField = Type.String({ format: 'date-time', examples: ['2026-03-01T12:00:00Z'] })

export const nullable = <T extends TSchema>(field: T, description?: string) =>
  Type.Union([field, Type.Null()], description === undefined ? {} : { description })

type Literals<Words extends readonly string[]> = {
  -readonly [At in keyof Words]: TLiteral<Words[At] & string>
}

export function enumField<const Words extends readonly string[]>(words: Words) {
  const literals = words.map((word) => Type.Literal(word))
  return Type.Union(literals) as TUnion as TUnion<Literals<Words>>
}

export const countField = (example: number) => Type.Integer({ examples: [example] })

export const expiryFields = {
  expires_at: nullable(timeField, 'Null: never.'),
  expires_at_iso: nullable(isoTimeField, 'Null: never.'),
}

export const messageSchema = successSchema({ message: Type.String() })
