import { Refusal, Unreachable } from '../site/ask.ts'
import type { Summary } from '../site/shapes.ts'
import { backOffSeconds } from './back-off.ts'
import type { StreamEvent } from './event-stream.ts'
import type { Way } from './ladder.ts'
import { listen } from './listen.ts'
import type { Look } from './look.ts'
import { hearing, mail } from './mail.ts'
import { endPauses, pause } from './pause.ts'
import { inStreamSlot } from './stream-slots.ts'

interface HearDeps {
  token: string
  look: Look
  signal: AbortSignal
}

const WAIT_SECONDS = 50
const LOOK_SECONDS = 15
const SHORT_SECONDS = 1
// Mail that comes in numbers is asked about once.
const FULL_MS = 5_000
// A stream that is cut off again and again, as soon as it is open, is no way to hear anything.
const LEAST_STREAM_MS = 5_000

/** One attempt to hear of new mail by this way. Throws when it does not work. */
export async function hear(way: Way, { token, look, signal }: HearDeps): Promise<void> {
  const given = new AbortController()
  const both = { token, look, signal: AbortSignal.any([signal, given.signal]) }
  const mine = async (force: boolean) => {
    try {
      await look({ signal: both.signal, force })
    } catch (fault) {
      // Too many questions say nothing about the way.
      if (fault instanceof Refusal && fault.status === 429) throw fault
      given.abort(fault)
    }
  }
  doubt = mine
  try {
    await WAYS[way](both)
  } catch (fault) {
    if (!isStopping(fault)) throw fault
    // Nothing is wrong: we come back when it asks us to, to it or to another in its place, and say nothing meanwhile.
    await pause(backOffSeconds(1, Math.random(), fault.retrySeconds), both.signal)
  } finally {
    if (doubt === mine) doubt = undefined
    given.abort()
  }
}

let doubt: ((force: boolean) => Promise<void>) | undefined

/** Asks the server now. When it does not answer, the way that seemed to work is given up. Throws when we ask too often. */
export async function lookNow({ force = false } = {}): Promise<void> {
  if (!endPauses()) await doubt?.(force)
}

const WAYS: Record<Way, (deps: HearDeps) => Promise<void>> = {
  async stream(deps) {
    const { token, look, signal } = deps
    let openedAt = Number.POSITIVE_INFINITY
    const onOpen = () => {
      openedAt = Date.now()
      hearing.value = { kind: 'live' }
      // What was deleted just before the stream began is told by nobody else.
      doubt?.(false).catch(() => undefined)
    }
    let fullSoon: ReturnType<typeof setTimeout> | undefined
    let goodbye: Refusal | undefined
    const onEvent = (event: StreamEvent) => {
      take(event)
      if (event.kind === 'goodbye') goodbye = stopping(Number(event.text) / 1000)
      if (event.kind === 'message') fullSoon ??= setTimeout(askFull, FULL_MS)
    }
    const askFull = () => {
      fullSoon = undefined
      look.full(signal).catch(() => undefined)
    }
    const stream = { token, since: mail.newest(), onOpen, onEvent }
    const hearUntil = (until: AbortSignal) =>
      listen({ ...stream, signal: AbortSignal.any([signal, until]) })
    try {
      if ((await inStreamSlot(hearUntil)) === 'none') await WAYS.look(deps)
      else throw goodbye ?? new Unreachable('the stream was cut off')
    } catch (fault) {
      // Every stream ends some day; one that has served for a while was not at fault.
      if (fault === goodbye || Date.now() - openedAt < LEAST_STREAM_MS) throw fault
    } finally {
      clearTimeout(fullSoon)
    }
  },

  async wait({ look, signal }) {
    hearing.value = { kind: 'waiting' }
    if (!look.canWait()) await pause(SHORT_SECONDS, signal)
    await look({ signal, wait: look.canWait() ? WAIT_SECONDS : 0 })
  },

  async look({ signal }) {
    hearing.value = { kind: 'looking', seconds: LOOK_SECONDS }
    await pause(LOOK_SECONDS, signal)
  },
}

function take({ kind, text }: StreamEvent): void {
  if (kind === 'message') mail.came(JSON.parse(text) as Summary)
  if (kind === 'updated') mail.updated(JSON.parse(text) as Summary)
  if (kind === 'deleted') mail.gone(new Set([(JSON.parse(text) as { id: number }).id]))
}

function stopping(seconds: number): Refusal {
  return new Refusal(503, { code: 'shutting_down', message: 'The server stops.' }, seconds)
}

function isStopping(fault: unknown): fault is Refusal {
  return fault instanceof Refusal && fault.code === 'shutting_down'
}
