import type { Mailbox } from '../address/mailbox.ts'
import { Refusal, Unreachable } from '../site/ask.ts'
import { backOffSeconds } from './back-off.ts'
import { hear } from './hear.ts'
import { afterFailure, climbAgain, type Rung, TOP } from './ladder.ts'
import { looker } from './look.ts'
import { type Hearing, hearing } from './mail.ts'
import { pause } from './pause.ts'

const CLIMB_MS = 5 * 60_000

/** Hears of all that happens to a mailbox, by whatever way there is. Returns when its session is over. */
export async function follow({ token }: Mailbox, signal: AbortSignal): Promise<void> {
  const look = looker(token)
  let rung: Rung = TOP
  let climbAt = Number.POSITIVE_INFINITY
  let failed = false
  let looked = false

  while (!signal.aborted) {
    // A plain question first: only while those are answered can it be the way that fails.
    const answer = looked ? 'at once' : await untilAnswered(() => look({ signal }), signal)
    if (answer === 'ended') return
    if (failed && answer === 'at once') {
      rung = afterFailure(rung)
      climbAt = Date.now() + CLIMB_MS
    } else if (Date.now() >= climbAt) {
      rung = climbAgain(rung)
      climbAt = Number.POSITIVE_INFINITY
    }
    const { way } = rung
    failed = (await faultOf(() => hear(way, { token, look, signal }))) !== undefined
    if (!failed) rung = { way, failures: 0 }
    looked = way === 'wait' && !failed
  }
}

/** Asks until there is an answer, and says meanwhile what is in the way. */
async function untilAnswered(
  look: () => Promise<void>,
  signal: AbortSignal,
): Promise<'at once' | 'late' | 'ended'> {
  for (let misses = 0; ; misses += 1) {
    const fault = await faultOf(look)
    signal.throwIfAborted()
    if (fault === undefined) return misses === 0 ? 'at once' : 'late'
    const weather = weatherOf(fault, misses + 1)
    hearing.value = weather
    if (weather.kind === 'ended') return 'ended'
    const seconds = (weather.until - Date.now()) / 1000
    await pause(seconds, signal, { firm: weather.kind === 'limited' })
  }
}

/** What a deed threw, if it is of the network or the server. Anything else is a fault of this page, and rises. */
async function faultOf(operation: () => Promise<void>): Promise<Error | undefined> {
  try {
    await operation()
    return undefined
  } catch (fault) {
    if (fault instanceof Refusal || fault instanceof Unreachable) return fault
    // Aborted, by us or by the clock.
    if (fault instanceof DOMException) return fault
    throw fault
  }
}

type Weather = Extract<Hearing, { until: number } | { kind: 'ended' }>

function weatherOf(fault: Error, misses: number): Weather {
  const refusal = fault instanceof Refusal ? fault : undefined
  if (refusal?.status === 401) return { kind: 'ended' }
  const seconds = backOffSeconds(misses, Math.random(), refusal?.retrySeconds)
  const until = Date.now() + seconds * 1000
  if (refusal?.status === 429) return { kind: 'limited', until }
  return { kind: navigator.onLine || refusal ? 'away' : 'offline', until }
}
