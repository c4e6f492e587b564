import { signal } from '@preact/signals'
import { isExpired, type Mailbox } from '../address/mailbox.ts'
import { currentMailbox } from '../address/mailboxes.ts'
import { storedKey, storeKey } from '../key/key-state.ts'
import { tabStore } from '../site/storage.ts'
import { type ApiRequest, type Operation, requestOf } from './request.ts'
import { type ApiResponse, sendRequest } from './send-request.ts'

export type ConsoleState = ReturnType<typeof createConsoleState>

/** A stream may stay open for days. */
const MAX_EVENTS = 200

interface Progress {
  phase: 'ready' | 'waiting' | 'streaming' | 'stopped' | 'over'
  outcome?: ApiResponse
  events: readonly string[]
  fault?: unknown
}

/** The state of one console. */
export function createConsoleState(operation: Operation) {
  const values = signal<Readonly<Record<string, string>>>({})
  const progress = signal<Progress>({ phase: 'ready', events: [] })
  let running: AbortController | undefined

  function update(changed: Partial<Progress>): void {
    progress.value = { ...progress.value, ...changed }
  }

  async function send(): Promise<void> {
    running?.abort()
    const current = new AbortController()
    running = current
    progress.value = { phase: 'waiting', events: [] }
    try {
      const outcome = await sendRequest(request(), current.signal)
      const { body } = outcome
      update({ outcome, phase: body.kind === 'stream' ? 'streaming' : 'ready' })
      if (body.kind !== 'stream') return
      for await (const text of body.events) {
        if (current.signal.aborted) return
        update({ events: [...progress.value.events, text].slice(-MAX_EVENTS) })
      }
      update({ phase: 'over' })
    } catch (fault) {
      // Stopped, or superseded by the next request.
      if (!current.signal.aborted) update({ fault, phase: 'ready' })
    }
  }

  function stop(): void {
    running?.abort()
    update({ phase: 'stopped' })
  }

  function request(): ApiRequest {
    return requestOf(operation, values.value, getSecret(operation.auth))
  }

  function give(name: string, value: string): void {
    values.value = { ...values.value, [name]: value }
  }

  return { operation, values, progress, send, stop, request, give }
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

/** The mailbox of the inbox, unless it has expired. */
export function inboxMailbox(): Mailbox | undefined {
  const mailbox = currentMailbox.value
  return mailbox && !isExpired(mailbox, Date.now()) ? mailbox : undefined
}
