import { Errors } from 'typebox/schema'

/** In a module of its own, because it is loaded on demand, also from dist/. */
export const schemaErrors = Errors
