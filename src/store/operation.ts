/**
 * An operation that both engines run: it yields one statement after the other, and each is answered with its rows. SQLite runs it
 * synchronously, inside a transaction of its writer; PostgreSQL sends the statements. The SQL is PostgreSQL's, as far as SQLite
 * understands it too; see sqlite/operations.ts for the rest.
 */
export type Operation<Result> = Generator<Statement, Result, unknown[]>

export interface Statement {
  text: string
  /** Of $1, $2 and so on. */
  values: readonly Value[]
}

type Scalar = string | number | boolean | Uint8Array | null | undefined
export type Value = Scalar | readonly string[] | readonly number[]

/** Runs a statement inside an operation. */
export function* query<Row>(text: string, values: readonly Value[] = []): Operation<Row[]> {
  return (yield { text, values }) as Row[]
}

export type Operations = Record<string, (...args: never[]) => Operation<unknown>>

type ResultOf<O extends Operations, Name extends keyof O> =
  ReturnType<O[Name]> extends Operation<infer Result> ? Result : never

export type SyncMethods<O extends Operations> = {
  [Name in keyof O]: (...args: Parameters<O[Name]>) => ResultOf<O, Name>
}

export type AsyncMethods<O extends Operations> = {
  [Name in keyof O]: (...args: Parameters<O[Name]>) => Promise<ResultOf<O, Name>>
}

/** Methods that pass each operation to `run`, which returns its result, or a promise of it. */
export function methodsOf<Methods>(
  operations: Operations,
  run: (operation: Operation<unknown>) => unknown,
): Methods {
  const methods = Object.entries(operations).map(([name, operation]) => [
    name,
    (...args: never[]) => run(operation(...args)),
  ])
  return Object.fromEntries(methods)
}
