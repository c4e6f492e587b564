import { ImapFault } from './errors.ts'

/** Mails that the server could not show us whole. They must not keep those behind them for ever. */
export interface PoisonMails {
  /** True when it was tried often enough. */
  given(mail: Place): boolean
  /** Fetches these mails, and remembers when that fails. */
  during<T>(mails: readonly [Place, ...Place[]], fetch: () => Promise<T>): Promise<T>
  /** Whether this one is best fetched alone: it was among several with which something was wrong. */
  alone(mail: Place): boolean
}

/** Where a mail lies, under the numbering of now. */
export interface Place {
  folder: string
  uidValidity: number
  uid: number
}

// Three answers that make no sense; or thirty connections that ended at this very mail, which may still be chance.
const ENOUGH = 3
const CHANCE = 0.1
const MAX_MAILS = 1_000

export function openPoisonMails(): PoisonMails {
  const doubts = new Map<string, number>()
  // By folder and numbering: up to which UID each mail is fetched alone.
  const careful = new Map<string, number>()

  function add(mail: Place, error: unknown): void {
    const weight = error instanceof ImapFault && error.kind === 'doubtful' ? 1 : CHANCE
    doubts.set(keyOf(mail), (doubts.get(keyOf(mail)) ?? 0) + weight)
    const [oldest] = doubts.keys()
    if (doubts.size > MAX_MAILS && oldest !== undefined) doubts.delete(oldest)
  }

  return {
    given: (mail) => (doubts.get(keyOf(mail)) ?? 0) >= ENOUGH,
    alone: (mail) => mail.uid <= (careful.get(folderOf(mail)) ?? 0),
    async during(mails, fetch) {
      const [first, ...others] = mails
      try {
        return await fetch()
      } catch (error) {
        const last = others.at(-1)
        if (last) careful.set(folderOf(last), last.uid)
        else add(first, error)
        throw error
      }
    },
  }
}

function folderOf({ folder, uidValidity }: Place): string {
  return `${uidValidity} ${folder}`
}

function keyOf(mail: Place): string {
  return `${mail.uid} ${folderOf(mail)}`
}
