import { Refusal, Unreachable } from '../site/ask.ts'
import { language, say } from '../site/words.ts'

/** Why something could not be done, and when it is worth trying again. */
export interface Trouble {
  kind: 'offline' | 'unreachable' | 'too_many' | 'busy' | 'gmail' | 'other'
  retrySeconds: number | undefined
  /** The server's own words. */
  message: string
}

const KINDS: Record<string, Trouble['kind']> = {
  rate_limited: 'too_many',
  overloaded: 'busy',
  shutting_down: 'busy',
  internal: 'busy',
  timeout: 'unreachable',
  gmail_unavailable: 'gmail',
}

/** Anything but a refusal or silence is a fault of this page, and rises. */
export function troubleOf(fault: unknown): Trouble {
  if (fault instanceof Unreachable) {
    const kind = navigator.onLine ? 'unreachable' : 'offline'
    return { kind, retrySeconds: undefined, message: '' }
  }
  if (!(fault instanceof Refusal)) throw fault
  const { code, retrySeconds, message } = fault
  return { kind: KINDS[code] ?? 'other', retrySeconds, message }
}

export function sayTrouble({ kind, retrySeconds, message }: Trouble): string {
  const again = retrySeconds === undefined ? '' : ` ${say('address_again', seconds(retrySeconds))}`
  if (kind === 'other') return `${say('address_refused', { message })}${again}`
  return `${say(`address_${kind}`)}${again}`
}

function seconds(count: number): { time: string } {
  const unit = count < 120 ? 'second' : 'minute'
  const value = count < 120 ? Math.ceil(count) : Math.ceil(count / 60)
  const format = { style: 'unit', unit, unitDisplay: 'long' } as const
  return { time: new Intl.NumberFormat(language.value, format).format(value) }
}
