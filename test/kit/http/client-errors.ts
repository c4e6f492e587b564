import { expect } from 'vitest'
import { MayflyError } from '../../../clients/js/src/mayfly.ts'

/** What the JavaScript client throws. */
export async function caught(promise: Promise<unknown>): Promise<Error> {
  return await promise.then(
    () => expect.fail('it did not throw'),
    (error: Error) => error,
  )
}

export function codeOf(error: Error): string | undefined {
  return error instanceof MayflyError ? error.code : `${error}`
}
