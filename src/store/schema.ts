import { readdirSync, readFileSync } from 'node:fs'
import { OperatorError } from '../base/problem.ts'

/** Each has its own tables and migrations. */
export type Kind = 'mail' | 'shop'

/** `what` was written by a newer version. */
export class NewerSchema extends OperatorError {
  constructor(what: string, at: number, known: number) {
    super(
      `${what} has schema ${at}, but this version knows only ${known}. Start the newer version, or restore a backup.`,
    )
  }
}

/** A schema that a running service of an older version may still use: a command must not migrate it. */
export class OlderSchema extends OperatorError {}

export interface Migration {
  number: number
  sql: string
}

/** The migrations of a folder, by number. */
export function readMigrations(folder: URL): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'))
  return names.sort().map((name) => ({
    number: Number.parseInt(name, 10),
    sql: readFileSync(new URL(name, folder), 'utf8'),
  }))
}
