import { Refusal, Unreachable } from '../site/ask.ts'
import { waitWords } from '../site/time-words.ts'
import { say } from '../site/words.ts'
import { MOST_LIVE } from './mailbox.ts'

/** This browser has as many live addresses as it keeps. */
export class ListFull extends Error {}

/** Why something could not be done, and when it is worth trying again. */
export interface Trouble {
  kind: 'offline' | 'unreachable' | 'too_many' | 'busy' | 'gmail' | 'list_full' | 'other'
  retrySeconds: number | undefined
  /** The server's own words. */
  message: string
  /** True when it is tried again without being asked. */
  byItself?: boolean
  /** Tries again now. */
  again(): void
}

const KINDS: Record<string, Trouble['kind']> = {
  rate_limited: 'too_many',
  overloaded: 'busy',
  shutting_down: 'busy',
  internal: 'busy',
  timeout: 'unreachable',
  gmail_unavailable: 'gmail',
}

/** Any other error is a fault of this page, and rises. */
export function troubleOf(fault: unknown): SaidTrouble {
  if (fault instanceof Unreachable) {
    const kind = navigator.onLine ? 'unreachable' : 'offline'
    return { kind, retrySeconds: undefined, message: '' }
  }
  if (fault instanceof ListFull) return { kind: 'list_full', retrySeconds: undefined, message: '' }
  if (!(fault instanceof Refusal)) throw fault
  const { code, retrySeconds, message } = fault
  return { kind: KINDS[code] ?? 'other', retrySeconds, message }
}

export function sayTrouble({ kind, retrySeconds, message, byItself }: SaidTrouble): string {
  if (kind === 'list_full') return fullWords()
  const what = kind === 'other' ? say('address_refused', { message }) : say(`address_${kind}`)
  if (retrySeconds === undefined) return what
  const when = say(byItself ? 'address_trying' : 'address_try_in', {
    time: waitWords(retrySeconds),
  })
  return `${what} ${when}`
}

export function fullWords(): string {
  return say('address_list_full', { most: MOST_LIVE })
}

type SaidTrouble = Omit<Trouble, 'again'>
