import { signal } from '@preact/signals'
import type { Answers } from '../site/api.ts'
import { ApiError, type Order, requestJson } from '../site/api-client.ts'
import { tabStore } from '../site/storage.ts'

export type ClaimedKey = Answers['POST /api/orders/{id}/claim']
export type WatchedOrder = ReturnType<typeof watchOrder>

const FIRST_POLL_MS = 2_000
const MAX_POLL_MS = 20_000

/** An order, watched as long as something may happen to it. */
export function watchOrder(id: string) {
  const secret = claimSecret(id)
  readSecretFromFragment(secret.keep)
  const order = signal<Order | undefined>(undefined)
  /** Why we cannot look: the claim secret is not known here, or is another's. */
  const locked = signal<'no' | 'unknown' | 'wrong'>('no')
  const fault = signal<unknown>(undefined)
  const minted = signal<ClaimedKey | undefined>(undefined)
  const minting = signal(false)
  const headers = () => ({ 'claim-secret': secret.find() ?? '' })
  let pollMs = FIRST_POLL_MS

  async function look(): Promise<void> {
    if (secret.find() === undefined) {
      locked.value = 'unknown'
      return
    }
    try {
      order.value = await requestJson<Order>(`/api/orders/${id}`, { headers: headers() })
      fault.value = undefined
      if (!isInProgress(order.value)) return
    } catch (problem) {
      if (problem instanceof ApiError && problem.code === 'not_found') {
        locked.value = 'wrong'
        return
      }
      fault.value = problem
    }
    setTimeout(look, pollMs)
    pollMs = Math.min(pollMs * 1.3, MAX_POLL_MS)
  }

  async function unlock(given: string): Promise<void> {
    secret.keep(given)
    locked.value = 'no'
    await look()
  }

  async function mint(): Promise<void> {
    if (minting.value) return
    minting.value = true
    fault.value = undefined
    try {
      const path = `/api/orders/${id}/claim`
      minted.value = await requestJson<ClaimedKey>(path, { method: 'POST', headers: headers() })
    } catch (problem) {
      fault.value = problem
    } finally {
      minting.value = false
    }
  }

  return { id, order, locked, fault, minted, minting, look, unlock, mint, secret: secret.find }
}

export function isInProgress({ state }: Order): boolean {
  return state === 'open' || state === 'pending'
}

/** Not left in the address bar, where it would be shared with the next screenshot; unless nothing else keeps it. */
function readSecretFromFragment(keep: (secret: string) => boolean): void {
  const given = location.hash.slice(1)
  if (given && keep(given)) history.replaceState(null, '', location.pathname)
}

/** What shows the key of an order. It stays in this tab and is in no address that a server sees. */
export function claimSecret(orderId: string) {
  const name = `claim ${orderId}`
  return {
    find: () => tabStore.get(name),
    /** False when the browser refuses: then it is known until the page is left. */
    keep: (secret: string) => tabStore.set(name, secret),
  }
}
