import { openLru } from '../../base/lru.ts'
import { ImapError } from './errors.ts'

export type PoisonMails = ReturnType<typeof openPoisonMails>

export interface MailLocation {
  folder: string
  uidValidity: number
  uid: number
}

// Three invalid responses, or thirty connections lost at this very mail, which may still be coincidence.
const GIVE_UP_SCORE = 3
const LOST_CONNECTION_SCORE = 0.1
const MAX_MAILS = 1_000

/** Mails the server repeatedly failed to deliver. They must not block the mails after them forever. */
export function openPoisonMails() {
  const scores = openLru<string, number>(MAX_MAILS)
  // By folder and UIDVALIDITY: mails up to this UID are fetched alone.
  const aloneUpTo = new Map<string, number>()

  function add(mail: MailLocation, error: unknown): void {
    const score =
      error instanceof ImapError && error.kind === 'invalid-data' ? 1 : LOST_CONNECTION_SCORE
    scores.set(keyOf(mail), (scores.get(keyOf(mail)) ?? 0) + score)
  }

  return {
    /** True once it failed often enough to be skipped. */
    isPoison: (mail: MailLocation) => (scores.get(keyOf(mail)) ?? 0) >= GIVE_UP_SCORE,
    /** True if it was part of a batch that failed: fetched alone, the culprit shows. */
    mustFetchAlone: (mail: MailLocation) => mail.uid <= (aloneUpTo.get(folderOf(mail)) ?? 0),
    /** Runs a fetch of these mails and records its failure. */
    async guard<T>(
      [first, ...others]: readonly [MailLocation, ...MailLocation[]],
      fetch: () => Promise<T>,
    ): Promise<T> {
      try {
        return await fetch()
      } catch (error) {
        const last = others.at(-1)
        if (last) aloneUpTo.set(folderOf(last), last.uid)
        else add(first, error)
        throw error
      }
    },
  }
}

function folderOf({ folder, uidValidity }: MailLocation): string {
  return `${uidValidity} ${folder}`
}

function keyOf(mail: MailLocation): string {
  return `${mail.uid} ${folderOf(mail)}`
}
