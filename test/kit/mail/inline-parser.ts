import type { Parser } from '../../../src/mime/parser.ts'
import type { Mail } from '../../../src/shared/mail.ts'

/** A parser in this process, without limits or queue, for tests of the code that uses its results. */
export function inlineParser(parse: (raw: Uint8Array) => Promise<Mail>): Pick<Parser, 'use'> {
  const running = new Map<unknown, Promise<unknown>>()
  return {
    async use<T>(
      key: unknown,
      { signal }: { signal?: AbortSignal | undefined },
      task: (one: typeof parse) => Promise<T>,
    ): Promise<T> {
      signal?.throwIfAborted()
      const result = running.get(key) ?? task(parse).finally(() => running.delete(key))
      running.set(key, result)
      const { promise, reject } = Promise.withResolvers<never>()
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      return (await Promise.race([result, promise])) as T
    },
  }
}
