import { ImapFault } from './fault.ts'

/** Mails that the server could not show us whole. They must not keep those behind them for ever. */
export interface Doubts {
  /** True when it was tried often enough. */
  given(mail: string): boolean
  during<T>(mail: string, fetch: () => Promise<T>): Promise<T>
}

// Three answers that make no sense; or thirty connections that ended at this very mail, which may still be chance.
const ENOUGH = 3
const MAX_MAILS = 1_000

export function openDoubts(): Doubts {
  const doubts = new Map<string, number>()
  return {
    given: (mail) => (doubts.get(mail) ?? 0) >= ENOUGH,
    async during(mail, fetch) {
      try {
        const fetched = await fetch()
        doubts.delete(mail)
        return fetched
      } catch (error) {
        const weight = error instanceof ImapFault && error.kind === 'doubtful' ? 1 : 0.1
        doubts.set(mail, (doubts.get(mail) ?? 0) + weight)
        const [oldest] = doubts.keys()
        if (doubts.size > MAX_MAILS && oldest !== undefined) doubts.delete(oldest)
        throw error
      }
    },
  }
}
