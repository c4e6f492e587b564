import { signal } from '@preact/signals'
import { storedKey, storeKey } from '../key/key-state.ts'
import { tabStore } from '../site/storage.ts'
import { type ApiRequest, type Operation, requestOf } from './request.ts'
import { type ApiResponse, sendRequest } from './send-request.ts'

export type ConsoleState = ReturnType<typeof createConsoleState>

/** A stream may stay open for days. */
const MAX_EVENTS = 200

/** The state of one console. */
export function createConsoleState(operation: Operation) {
  const values = signal<Readonly<Record<string, string>>>({})
  const outcome = signal<ApiResponse | undefined>(undefined)
  const events = signal<readonly string[]>([])
  const phase = signal<'ready' | 'waiting' | 'streaming' | 'stopped' | 'over'>('ready')
  const fault = signal<unknown>(undefined)
  let running: AbortController | undefined

  async function send(): Promise<void> {
    running?.abort()
    const current = new AbortController()
    running = current
    outcome.value = undefined
    events.value = []
    fault.value = undefined
    phase.value = 'waiting'
    try {
      outcome.value = await sendRequest(request(), current.signal)
      await readStream(outcome.value, current)
    } catch (problem) {
      // Stopped, or superseded by the next request.
      if (current.signal.aborted) return
      fault.value = problem
      phase.value = 'ready'
    }
  }

  async function readStream({ body }: ApiResponse, mine: AbortController): Promise<void> {
    if (body.kind !== 'stream') {
      phase.value = 'ready'
      return
    }
    phase.value = 'streaming'
    for await (const text of body.events) {
      if (mine.signal.aborted) return
      events.value = [...events.value, text].slice(-MAX_EVENTS)
    }
    phase.value = 'over'
  }

  function stop(): void {
    running?.abort()
    phase.value = 'stopped'
  }

  function request(): ApiRequest {
    return requestOf(operation, values.value, getSecret(operation.auth))
  }

  function give(name: string, value: string): void {
    values.value = { ...values.value, [name]: value }
  }

  return { operation, values, outcome, events, phase, fault, send, stop, request, give }
}

/** Credentials are shared by all consoles and forgotten when the tab is closed. */
const sessionToken = signal(tabStore.get('token') ?? '')
// Never stored.
const adminToken = signal('')

export function getSecret(opens: Operation['auth']): string {
  if (opens === 'token') return sessionToken.value.trim()
  if (opens === 'key') return storedKey.value.trim()
  return opens === 'admin' ? adminToken.value.trim() : ''
}

export function setSecret(opens: Operation['auth'], secret: string): void {
  if (opens === 'key') storeKey(secret)
  if (opens === 'admin') adminToken.value = secret
  if (opens !== 'token') return
  sessionToken.value = secret
  tabStore.set('token', secret === '' ? undefined : secret)
}
