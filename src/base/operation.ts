/**
 * An operation that both engines run: it yields one statement after the other and receives the rows of each. SQLite runs it
 * synchronously, PostgreSQL by round trips. The SQL is what both understand, in PostgreSQL's notation, which
 * sqlite/operations.ts translates.
 */
export type Operation<Result> = Generator<Statement, Result, unknown[]>

export interface Statement {
  text: string
  /** True if the text differs from call to call: it is not worth preparing. */
  once?: boolean
  /** Values of $1, $2 and so on. */
  values: readonly Value[]
}

type Scalar = string | number | boolean | Uint8Array | null | undefined
export type Value = Scalar | readonly (string | number | null | undefined)[]

/** Values for `(created_at, id) < ($m, $n)`. Undefined: the first page. */
export function pageStart(before: { createdAt: Date; id: string } | undefined): [number, string] {
  return [before?.createdAt.getTime() ?? Number.MAX_SAFE_INTEGER, before?.id ?? '']
}

/** A value for `like … escape '!'`. For SQLite, it would end at a NUL. */
export function containing(text: string): string {
  return `%${text.replaceAll('\0', '\u{fffd}').replaceAll(/[%_!]/g, '!$&')}%`
}

/** Runs a statement inside an operation. */
export function* query<Row>(text: string, values: readonly Value[] = []): Operation<Row[]> {
  return (yield { text, values }) as Row[]
}

/** The same for a text that differs from call to call. */
export function* queryOnce<Row>(text: string, values: readonly Value[] = []): Operation<Row[]> {
  return (yield { text, values, once: true }) as Row[]
}

export type Operations = Record<string, (...args: never[]) => Operation<unknown>>

type ResultOf<O extends Operations, Name extends keyof O> =
  ReturnType<O[Name]> extends Operation<infer Result> ? Result : never

export function namesOf<O extends Operations>(operations: O): (keyof O & string)[] {
  return Object.keys(operations)
}

export type SyncMethods<O extends Operations> = {
  [Name in keyof O]: (...args: Parameters<O[Name]>) => ResultOf<O, Name>
}

export type AsyncMethods<O extends Operations> = {
  [Name in keyof O]: (...args: Parameters<O[Name]>) => Promise<ResultOf<O, Name>>
}

type Run = <Result>(operation: Operation<Result>) => Result
type RunAsync = <Result>(operation: Operation<Result>) => Promise<Result>

/** Methods that pass each operation to `run`, which returns its result, or a promise of it. */
export function methodsOf<O extends Operations>(operations: O, run: Run): SyncMethods<O>
export function methodsOf<O extends Operations>(operations: O, run: RunAsync): AsyncMethods<O>
export function methodsOf(operations: Operations, run: Run | RunAsync): unknown {
  const methods = Object.entries(operations).map(([name, operation]) => [
    name,
    (...args: never[]) => run(operation(...args)),
  ])
  return Object.fromEntries(methods)
}

/** A page of a list that is newest first. */
export interface CreatedPage {
  limit: number
  /** The last entry of the previous page. */
  before?: { createdAt: Date; id: string } | undefined
}
