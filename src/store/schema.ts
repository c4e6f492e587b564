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

/** The migrations of an engine, by number. */
export function readMigrations(engine: 'sqlite' | 'postgres', kind: Kind): Migration[] {
  const folder = new URL(`./${engine}/migrations/${kind}/`, import.meta.url)
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'))
  return names.sort().map((name) => ({
    number: Number.parseInt(name, 10),
    sql: readFileSync(new URL(name, folder), 'utf8'),
  }))
}

/** The schema after all migrations. */
export function latestSchema(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.number ?? 0
}

/** What migrates `what` from this schema to the next one; undefined if it has the latest. Refuses a newer schema. */
export function nextMigration(
  migrations: readonly Migration[],
  what: string,
  at: number,
): Migration | undefined {
  const latest = latestSchema(migrations)
  if (at > latest) throw new NewerSchema(what, at, latest)
  return migrations.find(({ number }) => number > at)
}
