/** Whatever was thrown, as an Error to log. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

/** True for an error of Node or SQLite with one of these codes: `EEXIST`, `SQLITE_FULL`. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
