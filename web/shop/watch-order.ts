import { signal } from '@preact/signals'
import { storeKey } from '../key/key-state.ts'
import type { ClaimedKey, Order } from '../site/api.ts'
import { ApiError, requestJson } from '../site/api-client.ts'
import { tabStore } from '../site/storage.ts'

export type WatchedOrder = ReturnType<typeof watchOrder>

const FIRST_POLL_MS = 2_000
const MAX_POLL_MS = 20_000

/** Polls an order until its state is final. */
export function watchOrder(id: string) {
  const secret = claimSecret(id)
  const fragment = location.hash.slice(1)
  // Removes the secret from the address bar, unless the browser cannot store it.
  if (fragment && secret.set(fragment)) history.replaceState(null, '', location.pathname)
  const order = signal<Order | undefined>(undefined)
  /** Why the order cannot be read: this tab has no claim secret for it, or a wrong one. */
  const locked = signal<'no' | 'unknown' | 'wrong'>('no')
  const error = signal<unknown>(undefined)
  const claimed = signal<ClaimedKey | undefined>(undefined)
  const claiming = signal(false)
  const headers = () => ({ 'claim-secret': secret.get() ?? '' })
  let pollMs = FIRST_POLL_MS

  async function poll(): Promise<void> {
    if (secret.get() === undefined) {
      locked.value = 'unknown'
      return
    }
    try {
      order.value = await requestJson<Order>(`/api/orders/${id}`, { headers: headers() })
      error.value = undefined
      if (!isInProgress(order.value)) return
    } catch (cause) {
      if (cause instanceof ApiError && cause.code === 'not_found') {
        locked.value = 'wrong'
        return
      }
      error.value = cause
    }
    setTimeout(poll, pollMs)
    pollMs = Math.min(pollMs * 1.3, MAX_POLL_MS)
  }

  async function unlock(given: string): Promise<void> {
    secret.set(given)
    locked.value = 'no'
    await poll()
  }

  async function claim(): Promise<void> {
    if (claiming.value) return
    claiming.value = true
    error.value = undefined
    try {
      const path = `/api/orders/${id}/claim`
      const made = await requestJson<ClaimedKey>(path, { method: 'POST', headers: headers() })
      // "Your key" then shows it, too.
      storeKey(made.key)
      claimed.value = made
    } catch (cause) {
      error.value = cause
    } finally {
      claiming.value = false
    }
  }

  return { id, order, locked, error, claimed, claiming, poll, unlock, claim, secret: secret.get }
}

export function isInProgress({ state }: Order): boolean {
  return state === 'open' || state === 'pending'
}

/** Authorizes reading an order and claiming its key. It stays in this tab; no URL that reaches a server contains it. */
export function claimSecret(orderId: string) {
  const name = `claim ${orderId}`
  return {
    get: () => tabStore.get(name),
    /** False if the browser refuses: then it is lost when the page is left. */
    set: (secret: string) => tabStore.set(name, secret),
  }
}
