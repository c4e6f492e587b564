/** A value that may be available at once. On hot paths, waiting for a promise would cost more than the rest. */
export type Awaitable<T> = T | Promise<T>

/** Passes the value on: at once if it is available, otherwise once it is. */
export function whenAvailable<T, Result>(
  value: Awaitable<T>,
  next: (value: T) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Runs a function that may throw or reject; `failed` converts the error. */
export function recoverable<T>(
  run: () => Awaitable<T>,
  failed: (error: unknown) => T,
): Awaitable<T> {
  try {
    const value = run()
    return value instanceof Promise ? value.catch(failed) : value
  } catch (error) {
    return failed(error)
  }
}
