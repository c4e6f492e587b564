import { signal } from '@preact/signals'
import { secretOf } from './opener.ts'
import type { Operation } from './operation.ts'
import { type ApiRequest, requestOf } from './request.ts'
import { type Outcome, sendCall } from './send-call.ts'

export type Trial = ReturnType<typeof openTrial>

/** The newest of a stream that goes on for days. */
const MOST_EVENTS = 200

/** One operation being tried. */
export function openTrial(operation: Operation) {
  const values = signal<Readonly<Record<string, string>>>({})
  const outcome = signal<Outcome | undefined>(undefined)
  const events = signal<readonly string[]>([])
  const phase = signal<'ready' | 'waiting' | 'streaming' | 'stopped' | 'over'>('ready')
  const fault = signal<unknown>(undefined)
  let running: AbortController | undefined

  async function send(): Promise<void> {
    running?.abort()
    const mine = new AbortController()
    running = mine
    outcome.value = undefined
    events.value = []
    fault.value = undefined
    phase.value = 'waiting'
    try {
      outcome.value = await sendCall(request(), mine.signal)
      await follow(outcome.value, mine)
    } catch (problem) {
      // Stopped by the reader, or by his next try.
      if (mine.signal.aborted) return
      fault.value = problem
      phase.value = 'ready'
    }
  }

  async function follow({ body }: Outcome, mine: AbortController): Promise<void> {
    if (body.kind !== 'stream') {
      phase.value = 'ready'
      return
    }
    phase.value = 'streaming'
    for await (const text of body.events) {
      if (mine.signal.aborted) return
      events.value = [...events.value, text].slice(-MOST_EVENTS)
    }
    phase.value = 'over'
  }

  function stop(): void {
    running?.abort()
    phase.value = 'stopped'
  }

  function request(): ApiRequest {
    return requestOf(operation, values.value, secretOf(operation.opens))
  }

  function give(name: string, value: string): void {
    values.value = { ...values.value, [name]: value }
  }

  return { operation, values, outcome, events, phase, fault, send, stop, request, give }
}
